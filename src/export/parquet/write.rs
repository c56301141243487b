//! Rows as a Parquet file: a group of them at a time, column after column, compressed with zstd.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::SortingColumn;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use serde_json::Value;

use super::table::{Column, Kind};
use crate::export::Sink;

/// Rows and bytes of a group.
const ROWS: usize = 100_000;
const BYTES: usize = 32 << 20;

/// A table being written.
pub(super) struct Table<'a> {
    sink: Sink<'a>,
    /// Writes into memory, from where each group goes to the file.
    writer: SerializedFileWriter<Vec<u8>>,
    columns: Vec<Column>,
    rows: Vec<Vec<Value>>,
    bytes: usize,
    written: u64,
}

fn fault(error: ParquetError) -> io::Error {
    io::Error::other(error)
}

impl<'a> Table<'a> {
    /// `wide`: places in WARC files have 64 bits.
    pub fn begin(sink: Sink<'a>, columns: Vec<Column>, wide: bool) -> io::Result<Self> {
        let fields = columns.iter().map(|(name, kind, always)| {
            let has = if *always { "required" } else { "optional" };
            let (physical, means) = match kind {
                Kind::Text => ("binary", " (utf8)"),
                Kind::Short => ("int32", " (integer(16,true))"),
                Kind::Place if wide => ("int64", ""),
                Kind::Int | Kind::Place => ("int32", ""),
                Kind::Long => ("int64", ""),
                Kind::Time => ("int64", " (timestamp(millis,true))"),
            };
            format!("{has} {physical} {name}{means};")
        });
        let schema = format!("message captures {{ {} }}", fields.collect::<String>());
        let level = ZstdLevel::try_new(3).map_err(fault)?;
        let by = [0, 1].map(|column_idx| SortingColumn { column_idx, descending: false, nulls_first: false });
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(level))
            .set_created_by(concat!("Lycosa/", env!("CARGO_PKG_VERSION")).to_owned())
            .set_sorting_columns(Some(by.to_vec()))
            .build();
        let schema = parse_message_type(&schema).map_err(fault)?;
        let writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties)).map_err(fault)?;
        Ok(Self { sink, writer, columns, rows: Vec::new(), bytes: 0, written: 0 })
    }

    /// The next row, of so many bytes.
    pub fn add(&mut self, row: Vec<Value>, bytes: usize) -> io::Result<()> {
        self.rows.push(row);
        self.bytes += bytes;
        if self.rows.len() >= ROWS || self.bytes >= BYTES { self.group() } else { Ok(()) }
    }

    fn group(&mut self) -> io::Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let mut group = self.writer.next_row_group().map_err(fault)?;
        for (nth, (.., always)) in self.columns.iter().enumerate() {
            let Some(mut column) = group.next_column().map_err(fault)? else { break };
            put(column.untyped(), &self.rows, nth, *always).map_err(fault)?;
            column.close().map_err(fault)?;
        }
        group.close().map_err(fault)?;
        self.written += self.rows.len() as u64;
        (self.rows, self.bytes) = (Vec::new(), 0);
        self.writer.flush()?;
        let made = std::mem::take(self.writer.inner_mut());
        self.sink.write_all(&made)
    }

    /// There are no more rows. Gives also how many there are.
    pub fn end(mut self) -> io::Result<(Sink<'a>, u64)> {
        self.group()?;
        let rest = self.writer.into_inner().map_err(fault)?;
        self.sink.write_all(&rest)?;
        Ok((self.sink, self.written))
    }
}

/// Writes the values of one column; `always`: each row has one.
fn put(column: &mut ColumnWriter<'_>, rows: &[Vec<Value>], nth: usize, always: bool) -> Result<(), ParquetError> {
    let values = || rows.iter().map(|row| row.get(nth).unwrap_or(&Value::Null));
    let levels: Vec<i16> = values().map(|value| i16::from(!value.is_null())).collect();
    let levels = (!always).then_some(&levels[..]);
    let numbers = || values().filter_map(Value::as_i64);
    match column {
        ColumnWriter::ByteArrayColumnWriter(column) => {
            let texts: Vec<ByteArray> = values().filter_map(Value::as_str).map(ByteArray::from).collect();
            column.write_batch(&texts, levels, None)?;
        }
        ColumnWriter::Int32ColumnWriter(column) => {
            let numbers: Vec<i32> = numbers().map(|number| i32::try_from(number).unwrap_or(i32::MAX)).collect();
            column.write_batch(&numbers, levels, None)?;
        }
        ColumnWriter::Int64ColumnWriter(column) => {
            column.write_batch(&numbers().collect::<Vec<i64>>(), levels, None)?;
        }
        _ => return Err(ParquetError::General("a column of a type that no table here has".to_owned())),
    }
    Ok(())
}
