//! What goes wrong, and who comes and goes.

use std::rc::Rc;

use super::life::Memory;
use super::world::{Event, World};
use crate::domain::cluster::map::MemberId;

impl World {
    fn stop(&mut self, life: usize) {
        let l = &mut self.lives[life];
        (l.runs, l.mem) = (false, Memory::default());
        let after = self.rng.between(200, 90_000);
        self.at(after, Event::Start(life));
    }

    /// Something goes wrong, or somebody comes or goes.
    pub fn trouble(&mut self) {
        if !self.is_trouble() {
            return;
        }
        let next = self.rng.between(2_000, 26_000);
        self.at(next, Event::Trouble);
        let running: Vec<usize> = (0..self.lives.len()).filter(|life| self.lives[*life].runs).collect();
        let Some(life) = self.rng.pick(&running) else { return };
        let what = match self.rng.below(20) {
            0..4 => {
                self.stop(life);
                "killed"
            }
            4..7 => {
                self.stop(life);
                let disk = self.lives[life].disk.as_mut().unwrap();
                disk.db = Rc::clone(&disk.synced);
                "without power"
            }
            7..9 if self.lives[life].id.is_some() && self.spare.taken < 4 => {
                self.lives[life].runs = false;
                self.lives[life].disk = None;
                "without its disk"
            }
            9..12 => {
                self.at(0, Event::Cut(life));
                "cut off"
            }
            12..14 => {
                self.engine.away = true;
                let after = self.rng.between(1_000, 70_000);
                self.at(after, Event::EngineBack);
                "and all without engine"
            }
            14..16 => {
                self.at(0, Event::Emptied);
                "and all with an empty engine"
            }
            16..18 if self.joins < 5 => {
                self.join(10);
                if self.rng.percent(50) {
                    // Nobody but itself may have seen the map with it.
                    let (nth, after) = (self.lives.len() - 1, self.rng.between(20, 3_000));
                    self.at(after, Event::Emptied);
                    self.at(after, Event::Cut(nth));
                }
                "sees another join"
            }
            18.. => {
                let told = self.order_to_leave();
                if self.rng.percent(60) { self.order_to_leave() } else { told }
            }
            _ => "well",
        };
        *self.seen.entry(what).or_default() += 1;
        self.say(|| format!("life {life} is {what}"));
        self.oracle_rolled_back();
        self.oracle_look();
    }

    /// Its machine does not reach the engine for a while.
    pub fn cut(&mut self, life: usize) {
        self.lives[life].cut = true;
        let after = self.rng.between(1_000, 110_000);
        self.at(after, Event::Mended(life));
    }

    pub fn emptied(&mut self) {
        self.say(|| "the engine is emptied".into());
        self.engine.empty();
        for life in &mut self.lives {
            // Connections break, and with them what was read.
            (life.mem.revision, life.mem.map_revision, life.mem.map_out) = (None, None, None);
            life.mem.seen.clear();
        }
    }

    pub fn is_trouble(&self) -> bool {
        self.now <= self.until
    }

    /// The operator tells a member to leave.
    fn order_to_leave(&mut self) -> &'static str {
        let stays = self.map.members.iter().filter(|member| !member.leaving).count();
        let ids: Vec<MemberId> = self.map.members.iter().map(|member| member.id).collect();
        let Some((revision, map)) = self.engine.map.clone().filter(|_| stays > 1 && !self.engine.away) else {
            return "well";
        };
        let Some(id) = self.rng.pick(&ids) else { return "well" };
        if let Ok(map) = map.leaving(id)
            && self.engine.write_map(Some(revision), map.clone()).is_some()
        {
            self.map = Rc::new(map);
            return "sees another leave";
        }
        "well"
    }
}
