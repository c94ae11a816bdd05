// Checks speedscope files against the schema that its package has:
// schema.cjs FILE..., and prints how many calls begin.
const fs = require('fs'), path = require('path');
const here = require('module').createRequire(process.cwd() + '/');
const release = path.join(path.dirname(here.resolve('speedscope/package.json')), 'dist/release');
const Ajv = here('ajv').default;
const valid = new Ajv({ strict: false, validateFormats: false }).compile(JSON.parse(fs.readFileSync(path.join(release, 'file-format-schema.json'))));
let calls = 0;
for (const f of process.argv.slice(2)) {
  const file = JSON.parse(fs.readFileSync(f));
  if (!valid(file)) { console.error(f, valid.errors.slice(0, 3)); process.exit(1); }
  for (const p of file.profiles) for (const e of p.events) if (e.type === 'O') calls++;
}
console.log(JSON.stringify({ calls }));
