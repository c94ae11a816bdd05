// Reads Parquet files with hyparquet, which shares no code with DuckDB:
// hyparquet.mjs FILE..., in the form of expected.py; hyparquet.mjs --values FILE...
// prints the rows with their values, for values.py.
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { line } from './typed.mjs';
const { parquetReadObjects } = await import(pathToFileURL(process.cwd() + '/node_modules/hyparquet/src/index.js'));
const r = { rows: 0, calls: 0, pairs: 0, paired_ns: 0, marks: 0, functions: {} };
const values = process.argv[2] === '--values';
for (const path of process.argv.slice(values ? 3 : 2)) {
  const b = readFileSync(path);
  const file = b.buffer.slice(b.byteOffset, b.byteOffset + b.length);
  for (const row of await parquetReadObjects({ file })) {
    r.rows++;
    if (values) console.log(line(row));
    const ns = row.duration_us == null ? null : Math.round(row.duration_us * 1000);
    if (row.event === 'enter') {
      r.calls++;
      const f = (r.functions[row.function] ??= [0, 0]);
      f[0]++;
      if (ns !== null) { r.pairs++; r.paired_ns += ns; f[1] += ns; }
    } else if (ns === null) r.marks++;
  }
}
if (!values) console.log(JSON.stringify(r));
