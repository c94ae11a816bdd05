// Reads Parquet files with DuckDB: duckdb.mjs PATTERN, in the form of expected.py.
import { createRequire } from 'node:module';
const { DuckDBInstance } = createRequire(process.cwd() + '/')('@duckdb/node-api');
const db = await (await DuckDBInstance.create(':memory:')).connect();
const from = `read_parquet('${process.argv[2]}')`;
const ask = async q => (await db.runAndReadAll(q)).getRowsJson().map(r => r.map(v => (/^-?\d+$/.test(v) ? Number(v) : v)));
const [[rows, calls, pairs, total, marks]] = await ask(`select count(*), count(*) filter (event = 'enter'),
  count(*) filter (event = 'enter' and duration_ns is not null), coalesce(sum(duration_ns) filter (event = 'enter'), 0),
  count(*) filter (event <> 'enter' and duration_ns is null) from ${from}`);
const functions = {};
for (const [name, n, ns] of await ask(`select function, count(*), coalesce(sum(duration_ns), 0) from ${from} where event = 'enter' group by 1`)) functions[name] = [n, ns];
console.log(JSON.stringify({ rows, calls, pairs, paired_ns: total, marks, functions }));
