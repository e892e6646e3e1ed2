/**
 * Compiles dist/ from src/, and apps/NAME/dist/ from each package in apps/, against the types of the new dist/; builds the dashboard in
 * dist/web/ from web/ (web-build.mjs). Packages and dashboard are each built only after a change of their sources. Run under the set-up
 * lock. The compiler writes into a folder beside dist/, which is then renamed: a process which runs from dist/ sees the old build or
 * the new build, never a mixture. A stamp in dist/ names the sources of the build.
 */
import { createHash } from 'node:crypto'
import { chmodSync, cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { run } from './children.mjs'
import { joinModules } from './join-modules.mjs'
import { inRoot, root } from './paths.mjs'
import { Trouble } from './trouble.mjs'
import { buildWeb, isWebBuilt } from './web-build.mjs'

/**
 * The root package first, because the others are compiled against the root package's types; then the packages in apps/, dependencies
 * first.
 */
const packages = () => [
  // The compiler checks the package and writes the declarations; join-modules.mjs writes the modules.
  { folder: root, project: 'tsconfig.build.json', options: ['--emitDeclarationOnly'] },
  ...apps().map(name => ({ folder: inRoot('apps', name), project: `apps/${name}/tsconfig.build.json` })),
]

const apps = () =>
  readdirSync(inRoot('apps'))
    .filter(name => existsSync(inRoot('apps', name, 'tsconfig.build.json')))
    .sort((a, b) => Number(needsOthers(a)) - Number(needsOthers(b)) || (a < b ? -1 : 1))

const needsOthers = name => {
  const { dependencies = {} } = JSON.parse(readFileSync(inRoot('apps', name, 'package.json'), 'utf8'))
  return Object.keys(dependencies).some(each => each.startsWith('@retoma/'))
}

// At the same depth as dist/, because source maps name the sources by relative path.
const fresh = ({ folder }) => join(folder, '.dist-new')
const previous = ({ folder }) => join(folder, '.dist-old')
const dist = ({ folder }) => join(folder, 'dist')

export const isBuilt = () => isCompiled() && isWebBuilt(web)

const web = inRoot('dist', 'web')

function isCompiled() {
  try {
    const isThere = packages().every(each => existsSync(dist(each)))
    return isThere && readFileSync(inRoot('dist', '.stamp'), 'utf8') === sourceHash()
  } catch (error) {
    if (error.code === 'ENOENT') return false
    throw error
  }
}

export async function build({ say, started }) {
  say('building…')
  if (!isCompiled()) return compile({ started })
  const built = inRoot('.dist-web')
  await buildWeb({ into: built, started })
  remove(web)
  renameSync(built, web)
}

async function compile({ started }) {
  // The hash is taken before the compilation: a source changed during the compilation makes the next start build
  // again.
  const hash = sourceHash()
  const all = packages()
  for (const each of all) for (const folder of [fresh(each), previous(each)]) remove(folder)
  const tsc = inRoot('node_modules', 'typescript', 'bin', 'tsc')
  for (const each of all) {
    const args = [tsc, '-p', each.project, '--outDir', fresh(each), '--pretty', 'false', ...(each.options ?? [])]
    const { ok, how, output } = await run(process.execPath, args, { cwd: root, started })
    if (!ok) {
      for (const made of all) remove(fresh(made))
      throw new Trouble(`${output}\nbuilding failed (tsc, ${how}); dist/ was left as it was`)
    }
  }
  await joinModules({ source: inRoot('src'), target: inRoot('.dist-new') })
  const main = inRoot('.dist-new', 'cli', 'main.js')
  if (existsSync(main)) chmodSync(main, 0o755)
  if (isWebBuilt(web)) cpSync(web, inRoot('.dist-new', 'web'), { recursive: true })
  else await buildWeb({ into: inRoot('.dist-new', 'web'), started })
  writeFileSync(inRoot('.dist-new', '.stamp'), hash)
  // The root package last: the stamp counts only when the others are in place.
  for (const each of all.toReversed()) {
    if (existsSync(dist(each))) renameSync(dist(each), previous(each))
    renameSync(fresh(each), dist(each))
    remove(previous(each))
  }
}

const remove = folder => rmSync(folder, { recursive: true, force: true })

const described = ['package.json', 'tsconfig.json', 'tsconfig.build.json', 'scripts/lib/join-modules.mjs']

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
      if (entry.isDirectory()) return isSource(path) ? sourcesIn(path) : []
      return entry.name.endsWith('.test.ts') ? [] : [path]
    })
}

const isSource = folder => !/\/(dist|\.dist-\w+|node_modules)$|^apps\/[^/]+\/test$/.test(folder)
