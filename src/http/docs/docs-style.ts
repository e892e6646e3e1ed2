/** The style of the page at /api/docs, as a file of its own, so that the policy of the page can forbid inline styles. */
export const docsStyle = `
:root { color-scheme: light dark; --soft: color-mix(in srgb, currentColor 9%, transparent); --line: color-mix(in srgb, currentColor 18%, transparent) }
* { box-sizing: border-box }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0; display: grid; grid-template-columns: 14rem minmax(0, 1fr) }
nav { position: sticky; top: 0; height: 100vh; overflow-y: auto; padding: 1.5rem 1rem; border-right: 1px solid var(--line); font-size: .9rem }
nav a { display: block; padding: .15rem 0; color: inherit; text-decoration: none }
nav a:hover { text-decoration: underline }
main { padding: 1.5rem 2rem 6rem; max-width: 62rem }
h1 { margin: 0 0 .5rem } h2 { margin: 2.5rem 0 .5rem; padding-bottom: .3rem; border-bottom: 1px solid var(--line) }
h3 { margin: 1rem 0 .3rem; font-size: .95rem }
details { border: 1px solid var(--line); border-radius: .4rem; margin: .4rem 0 }
details[open] > summary { border-bottom: 1px solid var(--line) }
summary { cursor: pointer; padding: .5rem .8rem; display: grid; grid-template-columns: 4.2rem minmax(0, 1fr); gap: .2rem .6rem; align-items: baseline; list-style: none }
summary::-webkit-details-marker { display: none }
summary:hover { background: var(--soft) }
summary span { grid-column: 2; opacity: .75; font-size: .9rem }
summary code { overflow-wrap: anywhere }
.inside { padding: .4rem .9rem 1rem }
.method { font: 700 .75rem/1.6 ui-monospace, monospace; text-align: center; border-radius: .25rem; color: #fff; background: #4a5568 }
.get { background: #2b6cb0 } .post { background: #2f7a4d } .delete { background: #b23b3b } .put, .patch { background: #96620f }
table { border-collapse: collapse; width: 100%; font-size: .9rem }
td, th { text-align: left; vertical-align: top; padding: .25rem .8rem .25rem 0; border-top: 1px solid var(--line) }
tr:first-child > td, tr:first-child > th { border-top: 0 }
td:first-child code { white-space: nowrap }
code, pre { font: .85em/1.5 ui-monospace, monospace }
pre { background: var(--soft); padding: .7rem .9rem; border-radius: .4rem; overflow-x: auto; margin: .3rem 0 }
small { opacity: .75 }
@media (max-width: 50rem) { body { display: block } nav { position: static; height: auto; border-right: 0; border-bottom: 1px solid var(--line) } main { padding: 1rem } }
`
