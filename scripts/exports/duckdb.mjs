// Reads Parquet files with DuckDB: duckdb.mjs PATTERN, in the form of expected.py;
// duckdb.mjs PATTERN --values prints the rows with their values, for values.py.
import { createRequire } from 'node:module';
import { line } from './typed.mjs';
const { DuckDBInstance } = createRequire(process.cwd() + '/')('@duckdb/node-api');
const db = await (await DuckDBInstance.create(':memory:')).connect();
const from = `read_parquet('${process.argv[2]}')`;
if (process.argv[3] === '--values') {
  const rows = (await db.runAndReadAll(`select function, event, argument_values, result_values from ${from} order by index`)).getRowObjectsJson();
  for (const row of rows) console.log(line(row));
  process.exit(0);
}
const ask = async q => (await db.runAndReadAll(q)).getRowsJson().map(r => r.map(v => (/^-?\d+$/.test(v) ? Number(v) : v)));
const [[rows, calls, pairs, total, marks]] = await ask(`select count(*), count(*) filter (event = 'enter'),
  count(*) filter (event = 'enter' and duration_us is not null), cast(coalesce(sum(duration_us * 1000) filter (event = 'enter'), 0) as bigint),
  count(*) filter (event <> 'enter' and duration_us is null) from ${from}`);
// Where UTC is known it is known of all rows with a local time.
const [[lacking]] = await ask(`select count(*) from ${from} where (time_utc is null) <> (time is null) and (select count(time_utc) from ${from}) > 0`);
if (lacking !== 0) throw new Error(`${lacking} rows without time_utc`);
const functions = {};
for (const [name, n, ns] of await ask(`select function, count(*), cast(coalesce(sum(duration_us * 1000), 0) as bigint) from ${from} where event = 'enter' group by 1`)) functions[name] = [n, ns];
console.log(JSON.stringify({ rows, calls, pairs, paired_ns: total, marks, functions }));
