const study = JSON.parse(document.getElementById('data').textContent);
const at = id => document.getElementById(id);
const said = name => String(name).replaceAll('_', ' ');
const title = name => said(name).replace(/^./, letter => letter.toUpperCase());
const objective = run => run.slice(0, run.lastIndexOf('-'));
const seed = run => run.slice(run.lastIndexOf('-') + 1);
const number = value => value === null ? '' : String(value).replace('-', '−');

const config = {
  background: '#fff', font: 'system-ui, sans-serif', view: {stroke: null},
  axis: {labelFontSize: 12, titleFontSize: 12, titleFontWeight: 'normal', gridColor: '#ebebeb'},
  axisX: {labelAngle: 0, grid: false},
  legend: {labelFontSize: 12, titleFontSize: 12, labelLimit: 300},
};
const drawn = {};

const {fields, rows} = study.heads;
study.heads = rows.map(row => Object.fromEntries(
  fields.map((name, i) => [name, row[i]]).filter(([, value]) => value !== null)));

// Draws wait for earlier draws of the same chart, so that the last one stays.
function draw(id, spec) {
  drawn[id] = Promise.resolve(drawn[id]).then(async before => {
    before?.finalize();
    const options = {mode: 'vega-lite', renderer: 'svg', actions: false};
    const size = {width: 'container', autosize: {type: 'fit-x', contains: 'padding'}, padding: 10};
    const {view} = await vegaEmbed(at(id), {...size, config, ...spec}, options);
    return view;
  });
  return drawn[id];
}

// Replace the values of a select; the chosen one stays chosen if it is still among them.
function offer(select, values, say = said) {
  const before = select.value;
  select.replaceChildren(...values.map(value => new Option(say(value), value)));
  if (values.map(String).includes(before)) select.value = before;
}

const unique = values => [...new Set(values)];

// A part of the study's text within ours, in the direction of its own script.
const quoted = text => `\u2068${text}\u2069`;

function listClaims(list, measures) {
  const claims = study.claims.filter(claim => measures.includes(claim.measure));
  list.replaceChildren(...claims.map(claim => {
    const item = document.createElement('li'), link = document.createElement('a');
    item.innerHTML = study.signs[claim.verdict];
    link.href = `claims.html#claim-${claim.claim}`;
    link.textContent = claim.statement;
    item.append(`${claim.verdict}: `, link);
    return item;
  }));
  if (!claims.length) list.textContent = 'None.';
}

/* Curves over the layers */

const measure = () => study.measures.find(each => each.name === at('measure').value);

function newMeasure() {
  const {name, choices, x} = measure();
  at('choices').replaceChildren(...Object.keys(choices).map(choice => {
    const label = document.createElement('label'), select = document.createElement('select');
    select.name = choice;
    label.append(title(choice) + ' ', select);
    return label;
  }));
  offer(at('from'), x);
  offer(at('to'), x);
  at('from').value = x[0];
  at('to').value = x.at(-1);
  listClaims(at('curves-claims'), [name]);
  drawCurves();
}

// The chosen curves. Each choice offers only values that the choices before it leave.
function chosenCurves() {
  let {curves, choices} = measure();
  Object.entries(choices).forEach(([name, values], place) => {
    const select = at('choices').querySelector(`select[name="${name}"]`);
    offer(select, values.filter((_, n) => curves.some(curve => curve[1][place] === n)));
    curves = curves.filter(curve => curve[1][place] === values.indexOf(select.value));
  });
  const ticked = name => [...document.querySelectorAll(`input[name=${name}]:checked`)]
    .map(input => input.value);
  const [objectives, seeds] = [ticked('objective'), ticked('seed')];
  return curves.filter(([runs]) => runs.every(
    run => objectives.includes(objective(run)) && seeds.includes(seed(run))));
}

// The points of each curve from its first to its last value; a value between may be missing.
function points(curves, x, from, to) {
  return curves.flatMap(([runs, , values, low, high]) => {
    const known = [...values.keys()].filter(n => values[n] !== null && from <= n && n <= to);
    const looks = runs.map(run => study.looks[objective(run)]), {shape, color} = looks.at(-1);
    const dashed = looks[0].dashed || runs.length > 1;
    const look = {color: looks[0].color, other: color, shape, dashed};
    return values.map((value, n) => ({
      x: x[n], n, value, low: low[n], high: high[n], runs: runs.join(' and '), ...look,
    })).slice(known[0], known.length && known.at(-1) + 1);
  });
}

function drawCurves() {
  const {name, value, x} = measure(), curves = chosenCurves();
  // Where a value is missing, lines and bands break.
  const every = points(curves, x, x.indexOf(at('from').value), x.indexOf(at('to').value));
  const shown = every.filter(point => point.value !== null);
  const chosen = [...at('choices').querySelectorAll('select')].map(select => said(select.value));
  const of = value === 'value' ? `: ${chosen.join(', ')}`
    : value.endsWith('_nats') ? ' (nats)' : `: ${said(value)}`;
  const y = {field: 'value', type: 'quantitative', scale: {zero: false}, title: said(name) + of};
  const color = field => ({field, type: 'nominal', scale: null});
  const layer = (of, spec) => every.some(of) ? [{data: {values: every.filter(of)}, ...spec}] : [];
  const step = x[0]?.includes('-');
  // Many bands hide one another, so only the first model's is shown until others are asked for.
  const banded = unique(shown.filter(point => point.low !== null).map(point => point.runs));
  offer(at('band'), [...banded, ...banded.length > 1 ? ['all'] : [], 'none'], run => run);
  const asked = banded.filter(runs => ['all', runs].includes(at('band').value));
  const tooltip = [
    {field: 'runs', title: 'model'}, {field: 'x', title: step ? 'step' : 'layer'},
    {field: 'value', title: said(value)},
    {field: 'low', title: 'from'}, {field: 'high', title: 'to'},
  ];
  at('curves-chart').hidden = !shown.length;
  at('no-curves').hidden = shown.length;
  at('no-curves').textContent = curves.length
    ? 'These curves have no values, as where they rest on too few cases: choose others.'
    : 'None of these models has such curves: choose others.';
  if (shown.length) draw('curves-chart', {
    description: `${said(name)}, ${chosen.join(', ')}, of ${curves.length} models, by layer`,
    height: 340, data: {values: shown},
    encoding: {
      x: {field: 'x', type: 'ordinal', sort: x, scale: {type: 'point'},
        title: step ? 'step, from layer – to layer' : 'layer (0 = embeddings)'},
      detail: {field: 'runs'},
    },
    layer: [
      // Vega warns of a layer without points, which has no extent.
      ...layer(point => asked.includes(point.runs), {mark: {type: 'area', opacity: .15}, encoding: {
        y: {...y, field: 'low'}, y2: {field: 'high'}, color: color('color')}}),
      ...layer(point => point.color !== point.other || !point.dashed,
        {mark: 'line', encoding: {y, color: color('other')}}),
      ...layer(point => point.dashed,
        {mark: {type: 'line', strokeDash: [7, 5]}, encoding: {y, color: color('color')}}),
      {mark: {type: 'point', filled: true, opacity: 1, size: 60},
        encoding: {y, color: color('other'), shape: {field: 'shape', scale: null}, tooltip}},
    ],
  });
  at('values').tBodies[0].replaceChildren(...shown.map(point => {
    const row = document.createElement('tr');
    for (const cell of [point.runs, point.x, ...[point.value, point.low, point.high].map(number)])
      row.insertCell().textContent = cell;
    return row;
  }));
}

if (study.measures.length) {
  offer(at('measure'), study.measures.map(each => each.name));
  const wanted = location.hash.slice(1);
  if (study.measures.some(each => each.name === wanted)) at('measure').value = wanted;
  at('measure').addEventListener('change', newMeasure);
  at('curves').querySelector('form').addEventListener('change', event => {
    if (event.target !== at('measure')) drawCurves();
  });
  newMeasure();
}

/* Attention heads */

const ofRun = () => study.heads.filter(
  head => head.run === at('run').value && head.attention === at('kind').value);

function newRun() {
  const heads = study.heads.filter(head => head.run === at('run').value);
  offer(at('kind'), unique(heads.map(head => head.attention)));
  newKind();
}

function newKind() {
  const heads = ofRun(), known = study.importances.filter(name => heads.some(head => name in head));
  offer(at('importance'), known);
  offer(at('layer'), unique(heads.map(head => head.layer)));
  offer(at('head'), unique(heads.map(head => head.head)));
  const kept = study.attentions.find(each => each.run === at('run').value);
  const sentences = kept?.kinds[at('kind').value] ?? [];
  offer(at('sentence'), sentences.map((_, n) => n), n => quoted(sentences[n].queries.join(' ')));
  newHead();
}

function newHead() {
  drawHeads();
  newSentence();
}

async function drawHeads() {
  const importance = at('importance').value, heads = ofRun();
  const values = heads.map(head => head[importance]);
  const middle = (Math.max(...values) + Math.min(...values)) / 2;
  const columns = Math.max(...heads.map(head => head.head));
  const known = study.importances.filter(name => name in heads[0]);
  // Decoder heads are not tested for functions.
  const functions = at('kind').value === 'encoder' ? ['functions'] : [];
  const tooltip = ['layer', 'head', ...functions, ...known].map(
    field => ({field, title: said(field)}));
  const chosen = `datum.layer == ${at('layer').value} && datum.head == ${at('head').value}`;
  const dark = {test: `datum['${importance}'] > ${middle}`, value: '#fff'};
  const view = await draw('heads-chart', {
    description: `${said(importance)} of the heads of ${at('run').value}, by layer and head`,
    height: 38 * Math.max(...heads.map(head => head.layer)), data: {values: heads},
    transform: [{calculate: "datum.functions || 'none'", as: 'functions'}],
    encoding: {
      x: {field: 'head', type: 'ordinal', axis: {title: 'head', domain: false, ticks: false}},
      y: {field: 'layer', type: 'ordinal', sort: 'descending',
        axis: {title: 'layer', domain: false, ticks: false}},
      tooltip,
    },
    layer: [
      {mark: {type: 'rect', stroke: '#fff', cursor: 'pointer'}, encoding: {color: {
        field: importance, type: 'quantitative', scale: {scheme: 'blues'},
        legend: {title: said(importance), orient: 'top', gradientLength: 200}}}},
      {mark: {type: 'text', fontSize: 11, cursor: 'pointer',
        limit: (at('heads-chart').clientWidth - 70) / columns}, encoding: {
        text: {field: 'labels'},
        color: {condition: dark, value: '#1a1a1a'}}},
      {transform: [{filter: chosen}],
        mark: {type: 'rect', fill: null, stroke: '#D55E00', strokeWidth: 3, cursor: 'pointer'}},
    ],
  });
  view.addEventListener('click', (event, item) => {
    if (!item?.datum?.head) return;
    at('layer').value = item.datum.layer;
    at('head').value = item.datum.head;
    newHead();
  });
}

function sentence() {
  const kept = study.attentions.find(each => each.run === at('run').value);
  return kept?.kinds[at('kind').value]?.[at('sentence').value];
}

function newSentence() {
  const words = sentence()?.queries ?? [];
  offer(at('word'), [-1, ...words.keys()], n => n < 0 ? 'every word' : `${n + 1} ${words[n]}`);
  drawAttention();
}

// The weights of the chosen head: {q, k, w} by the places of both words.
function links({queries, keys, weights}) {
  const bytes = Uint8Array.from(atob(weights), character => character.charCodeAt(0));
  const {heads} = study.attentions.find(each => each.run === at('run').value);
  const place = (at('layer').value - 1) * heads + (at('head').value - 1);
  return queries.flatMap((from, q) => keys.map((to, k) => ({
    q, k, from, to, w: bytes[(place * queries.length + q) * keys.length + k] / 255})));
}

async function drawAttention() {
  const chosen = sentence();
  at('attention-chart').hidden = !chosen;
  if (!chosen) {
    // Of a checkpoint with a decoder it is kept of the encoder alone; a study may leave out all.
    const kind = at('kind').value, kept = study.attentions.filter(each => kind in each.kinds);
    const others = kept.length ? `; choose one of: ${kept.map(each => each.run).join(', ')}`
      : ', nor that of another model';
    at('about').textContent = `${title(kind)} attention of ${at('run').value} was not kept${others}`;
    return;
  }
  const {queries, keys} = chosen, all = links(chosen), rows = Math.max(queries.length, keys.length);
  const y = field => ({field, type: 'quantitative', axis: null, scale: {domain: [rows - .5, -.5]}});
  const x = value => ({datum: value, type: 'quantitative', axis: null, scale: {domain: [0, 1]}});
  const test = 'word < 0 || word == datum.q';
  const asks = {opacity: {condition: {test, value: 1}, value: .45}};
  const text = (side, place, align, more) => ({
    mark: {type: 'text', align, baseline: 'middle', fontSize: 13, limit: 150, color: '#1a1a1a'},
    data: {values: side.map((word, q) => ({word, q}))},
    encoding: {x: x(place), y: y('q'), text: {field: 'word'}, ...more},
  });
  const view = await draw('attention-chart', {
    description: `Attention of one head in: ${queries.join(' ')}`,
    height: 26 * rows, params: [{name: 'word', value: +at('word').value}],
    data: {values: all},
    transform: [
      {calculate: `${test} ? datum.w : 0`, as: 'shown'},
      {calculate: 'word == datum.q ? datum.w : 0', as: 'shade'},
      {calculate: 'datum.k - .5', as: 'top'}, {calculate: 'datum.k + .5', as: 'bottom'},
    ],
    layer: [
      {mark: {type: 'rect', color: '#E69F00'}, encoding: {
        x: x(.64), x2: {datum: 1}, y: y('top'), y2: {field: 'bottom'},
        opacity: {field: 'shade', type: 'quantitative', scale: null, legend: null}}},
      {mark: {type: 'rule', color: '#0072B2', strokeWidth: 2.5}, encoding: {
        x: x(.37), x2: {datum: .63}, y: y('q'), y2: {field: 'k'},
        opacity: {field: 'shown', type: 'quantitative', scale: null, legend: null}}},
      text(queries, .35, 'right', asks), text(keys, .65, 'left'),
      {data: {values: queries.map((_, q) => ({asks: true, q, top: q - .5, bottom: q + .5}))},
        mark: {type: 'rect', opacity: 0}, encoding: {
          x: x(0), x2: {datum: .37}, y: y('top'), y2: {field: 'bottom'}}},
    ],
  });
  view.addEventListener('pointerover', (event, item) => {
    if (item?.datum?.asks) newWord(item.datum.q);
  });
  newWord(at('word').value);
}

async function newWord(word) {
  at('word').value = word;
  const chosen = sentence(), place = `Layer ${at('layer').value}, head ${at('head').value}`;
  const strongest = links(chosen).filter(link => word < 0 || link.q == word)
    .sort((a, b) => b.w - a.w).slice(0, 3);
  const told = strongest.map(
    ({from, to, w}) => `${word < 0 ? `${quoted(from)} → ` : ''}${quoted(to)} ${w.toFixed(2)}`);
  const from = word < 0 ? 'largest weights' : `from “${quoted(chosen.queries[word])}”`;
  at('about').textContent = `${place}, ${from}: ${told.join(', ')}`;
  (await drawn['attention-chart']).signal('word', +word).runAsync();
}

if (study.heads.length) {
  offer(at('run'), unique(study.heads.map(head => head.run)), run => run);
  at('run').addEventListener('change', newRun);
  at('kind').addEventListener('change', newKind);
  at('importance').addEventListener('change', drawHeads);
  for (const id of ['layer', 'head']) at(id).addEventListener('change', newHead);
  at('sentence').addEventListener('change', newSentence);
  at('word').addEventListener('change', () => newWord(at('word').value));
  listClaims(at('heads-claims'), ['head_importance', 'head_functions']);
  newRun();
}

/* What each layer would predict */

const believing = () => study.beliefs.find(each => each.run === at('believing').value);

function newBelieving() {
  const {sentences} = believing();
  offer(at('believed'), [...sentences.keys()], n => quoted(sentences[n].right.join(' ')));
  showBeliefs();
}

function cells(row, name, values) {
  const head = document.createElement('th');
  head.scope = 'row';
  head.textContent = name;
  row.append(head);
  return values.map(value => {
    const cell = row.insertCell();
    cell.textContent = value;
    return cell;
  });
}

function showBeliefs() {
  const {read, right, ...of} = believing().sentences[at('believed').value];
  const [head, body] = [at('words').tHead, at('words').tBodies[0]];
  for (const part of [head, body]) part.replaceChildren();
  cells(head.insertRow(), 'reads', read);
  cells(head.insertRow(), 'to predict', right);
  for (const layer of [...of.believed.keys()].reverse())
    cells(body.insertRow(), `layer ${layer}`, of.believed[layer]).forEach((cell, n) => {
      const share = of.probability[layer][n], wanted = of.right_probability[layer][n];
      cell.style.setProperty('--share', share);
      cell.classList.toggle('right', of.believed[layer][n] === right[n]);
      cell.title =
        `${quoted(cell.textContent)} ${number(share)}, ${quoted(right[n])} ${number(wanted)}`;
    });
}

if (study.beliefs.length) {
  offer(at('believing'), study.beliefs.map(each => each.run), run => run);
  at('believing').addEventListener('change', newBelieving);
  at('believed').addEventListener('change', showBeliefs);
  newBelieving();
}

/* Pictures of t-SNE */

const picture = () => study.projected.pictures.find(
  each => each.run === at('pictured').value && each.picture === at('picture').value);

function newPictured() {
  const mine = study.projected.pictures.filter(each => each.run === at('pictured').value);
  offer(at('picture'), mine.map(each => each.picture));
  newPicture();
}

function newPicture() {
  const {x, shown, of} = picture();
  at('height').max = x.length - 1;
  at('sampled').textContent = (shown < of ? `${shown} of ${of} occurrences are shown. ` : '')
    + 'The axes have no unit: only what is near what means something.';
  at('sentences').replaceChildren(...picture().sentences.map((_, n) => {
    const item = document.createElement('li');
    item.append(...marked(n));
    return item;
  }));
  drawPicture();
}

// The text around the word of a point, cut between characters.
function near(n) {
  const [before, word, after] = [...marked(n)[0].childNodes].map(part => [...part.textContent]);
  return [...before.slice(-40), ...word, ...after.slice(0, 40)].join('');
}

// The sentence of a point, in the direction of its script; its word is marked.
function marked(n) {
  const {sentences, words, colors, kinds} = picture(), [start, end] = words[n];
  const text = [...study.projected.sentences[sentences[n]]];
  const [sentence, word] = ['bdi', 'mark'].map(name => document.createElement(name));
  word.textContent = text.slice(start, end).join('');
  sentence.append(text.slice(0, start).join(''), word, text.slice(end).join(''));
  const masked = kinds?.[n] === 'masked' ? ['masked'] : [];
  const told = [...(at('picture').value === 'token' ? [] : [colors[n]]), ...masked].join(', ');
  return [sentence, told ? ` (${told})` : ''];
}

async function drawPicture() {
  const layer = at('height').value, {picture: name, x, y, colors, kinds} = picture();
  at('height-said').textContent = layer;
  const legend = {orient: 'bottom', columns: 2}, {palette, other} = study;
  const named = unique(colors).sort((a, b) => (a === other.name) - (b === other.name));
  const range = named.map(
    (each, n) => each === other.name ? other.color : palette[n]);
  const color = name === 'position'
    ? {field: 'color', type: 'quantitative', legend, title: name,
      scale: {scheme: 'viridis', reverse: true}}
    : {field: 'color', type: 'nominal', legend, title: null, scale: {domain: named, range}};
  const scale = {zero: false, nice: false};
  const place = field => ({field, type: 'quantitative', axis: null, scale});
  const view = await draw('pictures-chart', {
    description: `t-SNE of ${at('pictured').value} at layer ${layer}, colored by ${name}`,
    height: 420,
    data: {values: x[layer].map((_, n) => ({
      n, x: x[layer][n], y: y[layer][n], color: colors[n], kind: kinds?.[n] ?? 'plain',
      text: near(n)}))},
    mark: {type: 'point', filled: true, size: 45, opacity: .8},
    encoding: {
      x: place('x'), y: place('y'), color,
      shape: {field: 'kind', type: 'nominal', title: null, legend: kinds ? legend : null,
        scale: {domain: ['plain', 'masked'], range: ['circle', 'cross']}},
      tooltip: {field: 'text'},
    },
  });
  view.addEventListener('pointerover', (event, item) => {
    if (item?.datum?.n !== undefined) at('occurrence').replaceChildren(...marked(item.datum.n));
  });
}

if (study.projected) {
  offer(at('pictured'), unique(study.projected.pictures.map(each => each.run)), run => run);
  at('pictured').addEventListener('change', newPictured);
  at('picture').addEventListener('change', newPicture);
  at('height').addEventListener('input', drawPicture);
  newPictured();
}
