/**
 * dist/, compiled from src/, and dist/apps/ from apps/, against it. Run under the set-up lock.
 *
 * The compiler writes into a folder beside dist/, which is then renamed: whoever runs from dist/ meanwhile sees the old
 * build or the new one, never half of one. A stamp in dist/ says from which sources it was made.
 */
import { createHash } from 'node:crypto'
import { chmodSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { run } from './children.mjs'
import { inRoot, root } from './paths.mjs'
import { Trouble } from './trouble.mjs'

const dist = inRoot('dist')
// At the same depth as dist/, because source maps name the sources by relative path.
const fresh = inRoot('.dist-new')
const previous = inRoot('.dist-old')

export function isBuilt() {
  try {
    return readFileSync(inRoot('dist', '.stamp'), 'utf8') === sourceHash()
  } catch (error) {
    if (error.code === 'ENOENT') return false
    throw error
  }
}

export async function build({ say, started }) {
  say('building…')
  // Taken before compiling: a source that changes meanwhile makes the next start build again.
  const hash = sourceHash()
  remove(fresh)
  remove(previous)
  const tsc = inRoot('node_modules', 'typescript', 'bin', 'tsc')
  for (const [project, folder] of [
    ['tsconfig.build.json', fresh],
    ['tsconfig.apps.json', inRoot('.dist-new', 'apps')],
  ]) {
    const args = [tsc, '-p', project, '--outDir', folder, '--pretty', 'false']
    const { ok, how, output } = await run(process.execPath, args, { cwd: root, started })
    if (!ok) {
      remove(fresh)
      throw new Trouble(`${output}\nbuilding failed (tsc, ${how}); dist/ was left as it was`)
    }
  }
  const main = inRoot('.dist-new', 'cli', 'main.js')
  if (existsSync(main)) chmodSync(main, 0o755)
  writeFileSync(inRoot('.dist-new', '.stamp'), hash)
  if (existsSync(dist)) renameSync(dist, previous)
  renameSync(fresh, dist)
  remove(previous)
}

const remove = folder => rmSync(folder, { recursive: true, force: true })

const described = ['package.json', 'tsconfig.json', 'tsconfig.build.json', 'tsconfig.apps.json']

function sourceHash() {
  const hash = createHash('sha256')
  for (const file of [...described, ...sourcesIn('src'), ...sourcesIn('apps')]) {
    hash
      .update(`${file}\0`)
      .update(readFileSync(inRoot(file)))
      .update('\0')
  }
  return hash.digest('hex')
}

function sourcesIn(folder) {
  return readdirSync(inRoot(folder), { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap(entry => {
      const path = `${folder}/${entry.name}`
      if (entry.isDirectory()) return sourcesIn(path)
      return entry.name.endsWith('.test.ts') ? [] : [path]
    })
}
