use super::*;

fn config(memory_body: usize, budget: u64) -> (tempfile::TempDir, SpillConfig) {
    let dir = tempfile::tempdir().unwrap();
    let config = SpillConfig {
        dir: dir.path().to_owned(),
        memory_body,
        shared: SpillBudget::new(0),
        budget: SpillBudget::new(budget),
    };
    (dir, config)
}

fn written<'p>(config: SpillConfig, pieces: impl IntoIterator<Item = &'p [u8]>) -> Result<Document, SpillError> {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
        let mut writer = DocumentWriter::new(config);
        for piece in pieces {
            writer = writer.push(piece).await?;
        }
        writer.finish().await
    })
}

fn body(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 31 % 251) as u8).collect()
}

#[test]
fn a_body_of_exactly_the_memory_share_stays_in_memory_and_one_byte_more_spills() {
    for (len, spilled) in [(0, false), (1, false), (1000, false), (1001, true), (300_000, true)] {
        let (_dir, config) = config(1000, 1 << 20);
        let document = written(config.clone(), body(len).chunks(777)).unwrap();
        assert_eq!(document.is_spilled(), spilled, "{len}");
        assert_eq!(document.len(), len as u64);
        assert_eq!(document.to_vec().unwrap(), body(len));
        assert_eq!(document.to_vec().unwrap(), body(len), "a second reading gives the same");
        assert_eq!(config.budget.used(), if spilled { len as u64 } else { 0 });
    }
}

#[test]
fn bodies_share_room_in_memory_and_go_to_a_file_when_there_is_none() {
    let (_dir, config) = config(1000, 1 << 24);
    let config = SpillConfig { shared: SpillBudget::new(200_000), ..config };
    let of = |len| written(config.clone(), body(len).chunks(50_000)).unwrap();
    let first = of(100_000);
    assert!(!first.is_spilled() && config.shared.used() == 131_072);
    let second = of(100_000);
    assert!(second.is_spilled() && config.shared.used() == 131_072, "what it had taken of the room came back");
    assert_eq!((first.to_vec().unwrap(), second.to_vec().unwrap()), (body(100_000), body(100_000)));
    drop((first, second));
    assert_eq!((config.shared.used(), config.budget.used()), (0, 0));
}

#[test]
fn no_body_takes_more_of_the_shared_room_than_a_megabyte() {
    let (_dir, config) = config(1000, 1 << 24);
    let config = SpillConfig { shared: SpillBudget::new(1 << 30), ..config };
    let document = written(config.clone(), body(3 << 20).chunks(50_000)).unwrap();
    assert!(document.is_spilled() && config.shared.used() == 0);
    assert_eq!(document.to_vec().unwrap(), body(3 << 20));
}

#[test]
fn the_spill_file_has_no_name_and_its_bytes_return_to_the_budget() {
    let (dir, config) = config(10, 1000);
    let document = written(config.clone(), [&*body(500)]).unwrap();
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    let copy = document.clone();
    drop(document);
    assert_eq!(config.budget.used(), 500);
    assert_eq!(copy.to_vec().unwrap(), body(500));
    drop(copy);
    assert_eq!(config.budget.used(), 0);
}

#[test]
fn a_body_over_the_budget_is_refused_and_gives_back_what_it_took() {
    let (_dir, config) = config(10, 100_000);
    let refused = written(config.clone(), [&*body(400_000)]).unwrap_err();
    assert!(matches!(refused, SpillError::Budget { limit: 100_000, .. }), "{refused}");
    assert_eq!(config.budget.used(), 0);
}

#[test]
fn a_missing_spill_folder_is_named_in_the_error() {
    let (dir, mut config) = config(10, 1000);
    config.dir = dir.path().join("not-there");
    let refused = written(config, [&*body(11)]).unwrap_err().to_string();
    assert!(refused.contains("not-there"), "{refused}");
}

#[test]
fn readers_on_several_threads_do_not_move_each_other() {
    let (_dir, config) = config(10, 1 << 20);
    let document = written(config, [&*body(200_000)]).unwrap();
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let document = document.clone();
            std::thread::spawn(move || document.to_vec().unwrap() == body(200_000))
        })
        .collect();
    assert!(threads.into_iter().all(|t| t.join().unwrap()));
}
