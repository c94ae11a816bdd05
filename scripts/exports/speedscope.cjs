// Has speedscope's own code import files: speedscope.cjs FILE..., and prints
// the time spent in functions themselves, all of it and by function.
//
// Its package has but the window's bundle, so the function that imports is
// found by how the window calls it, and run with a window that does nothing.
const fs = require('fs'), path = require('path'), vm = require('vm');
const here = require('module').createRequire(process.cwd() + '/');
const release = path.join(path.dirname(here.resolve('speedscope/package.json')), 'dist/release');
const bundle = fs.readFileSync(path.join(release, fs.readdirSync(release).find(f => /^speedscope-.*\.js$/.test(f))), 'utf8');
const found = /loadFileFromBase64:\(\w+,\w+\)=>\{this\.loadProfile\(\(\)=>(\w+)\(/.exec(bundle);
const at = bundle.indexOf('(()=>{') + 6;
if (!found || at < 6) { console.error('this version of speedscope is built in another way'); process.exit(2); }
const anything = () => new Proxy(function () {}, {
  get: (f, k) => k === Symbol.toPrimitive ? () => '' : k === 'prototype' ? f.prototype : k === 'length' ? 0 : k === Symbol.iterator ? function* () {} : k === 'then' ? undefined : anything(),
  apply: () => anything(), construct: () => anything(), set: () => true, has: () => true,
});
const quiet = { log() {}, warn() {}, error() {}, time() {}, timeEnd() {} };
const box = { console: quiet, setTimeout, clearTimeout, TextDecoder, TextEncoder, URL, URLSearchParams, performance, atob, btoa,
  navigator: { userAgent: '', platform: '', languages: [] }, location: { hash: '', protocol: 'file:', href: '' }, addEventListener() {}, requestAnimationFrame: () => 0, devicePixelRatio: 1 };
for (const k of ['document', 'localStorage', 'FileReader', 'Image', 'FontFace', 'matchMedia']) box[k] = anything();
for (const k of ['HTMLElement', 'Node', 'Event']) box[k] = class {};
box.globalThis = box.window = box.self = box;
vm.createContext(box);
try {
  vm.runInContext(bundle.slice(0, at) + `globalThis.importIt=(n,b)=>${found[1]}(n,b);` + bundle.slice(at), box);
} catch { /* the window cannot be drawn */ }
process.on('unhandledRejection', () => {});
(async () => {
  let total = 0, profiles = 0;
  const functions = {};
  for (const f of process.argv.slice(2)) {
    const group = await box.importIt(path.basename(f), fs.readFileSync(f).toString('base64'));
    if (!group) { console.error(f, 'is not imported'); process.exit(1); }
    for (const p of group.profiles) {
      // callgrind's second event, which is no time, makes a profile of its own.
      if (p.getName().endsWith('Calls')) continue;
      profiles++;
      p.forEachFrame(frame => {
        const w = frame.getSelfWeight();
        total += w;
        functions[frame.name] = (functions[frame.name] ?? 0) + w;
      });
    }
  }
  for (const k in functions) if (!(functions[k] > 0)) delete functions[k];
  console.log(JSON.stringify({ profiles, total, functions }));
})();
