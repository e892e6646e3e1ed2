/**
 * Prints files from code, so the files always agree with the code: `--write` prints the files, `--check` fails if a
 * file is stale. Each file of scripts/docs/ is a printer and exports `file`, the path to write, and `print()`, which
 * returns (a promise of) the text.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { inRoot } from './lib/paths.mjs'
import { giveUp, Trouble } from './lib/trouble.mjs'
import { setup } from './setup.mjs'

const mode = process.argv[2]
if (mode !== '--write' && mode !== '--check') giveUp(new Trouble('use: node scripts/docs.mjs --write | --check'))

await setup({ build: true }).catch(giveUp)

const stale = []
for (const name of readdirSync(inRoot('scripts', 'docs')).sort()) {
  const { file, print } = await import(`./docs/${name}`)
  const text = await print()
  if (textOf(file) === text) continue
  stale.push(file)
  if (mode === '--write') write(file, text)
}

if (mode === '--write') for (const file of stale) console.log(`wrote ${file}`)
else if (stale.length > 0) giveUp(new Trouble(`stale: ${stale.join(', ')}; run \`npm run docs\` and commit the result`))

function textOf(file) {
  try {
    return readFileSync(inRoot(file), 'utf8')
  } catch {
    return undefined
  }
}

function write(file, text) {
  mkdirSync(dirname(inRoot(file)), { recursive: true })
  writeFileSync(inRoot(file), text)
}
