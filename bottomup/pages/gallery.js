const form = document.querySelector('.find'), words = form.querySelector('input');
const found = form.querySelector('output');
const kinds = {
  figure: [...document.querySelectorAll('article')],
  claim: [...document.querySelectorAll('.evidence tbody tr')],
};
const texts = new Map(Object.values(kinds).flat().map(
  part => [part, (part.textContent + (part.querySelector('img')?.alt ?? '')).toLowerCase()]));

function find() {
  const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean), counts = [];
  for (const [kind, parts] of Object.entries(kinds)) {
    for (const part of parts) part.hidden = !wanted.every(word => texts.get(part).includes(word));
    const shown = parts.filter(part => !part.hidden).length;
    counts.push(`${shown} ${kind}${shown === 1 ? '' : 's'}`);
  }
  for (const category of document.querySelectorAll('.category'))
    category.hidden = !category.querySelector('article:not([hidden])');
  found.textContent = wanted.length ? counts.join(', ') : '';
}

// What a link leads to is there, whatever was looked for, and open.
function arrive() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target?.checkVisibility()) {
    words.value = '';
    find();
    document.querySelector('.claims input[value=all]')?.click();
    target?.scrollIntoView();
  }
  target?.querySelector(':scope summary')?.parentNode.setAttribute('open', '');
}

form.hidden = false;
form.addEventListener('submit', event => event.preventDefault());
words.addEventListener('input', find);
addEventListener('hashchange', arrive);
if (location.hash) arrive();
