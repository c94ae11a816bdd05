// The lines of JSON that values.py reads. Numbers that JSON does not have are texts there.
const text = v => (Object.is(v, -0) ? '-0' : String(v));
const inJSON = v => typeof v !== 'bigint' && (typeof v !== 'number' || (Number.isFinite(v) && !Object.is(v, -0)));
export const line = ({ function: name, event, argument_values = null, result_values = null }) =>
  JSON.stringify({ function: name, event, argument_values, result_values }, (key, v) => (inJSON(v) ? v : text(v)));
