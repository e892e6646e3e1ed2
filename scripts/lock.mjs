/**
 * Completes package-lock.json: `node scripts/lock.mjs` after `npm install` has changed it, `node scripts/lock.mjs test/next`
 * for that of another folder.
 *
 * npm writes down the optional packages of the systems it could ask for, and `npm ci` then refuses the file because it lacks
 * the others (npm/cli#4828; a registry that mirrors only some of them does the same). Whoever wants such a package names
 * its exact version, and its own name says for which system it is; so the entry can be written without asking anybody. Such an entry has no
 * integrity, and test/architecture/lock.test.ts refuses it: take a version whose packages the registry has for every system
 * (`overrides` in package.json), then an `npm install` writes the integrity of each.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { inRoot } from './lib/paths.mjs'

/** Returns the optional packages without an entry in the lock file: `{ name, version, by }` each. */
export function lacking({ packages }) {
  return Object.entries(packages).flatMap(([by, { optionalDependencies = {} }]) =>
    Object.entries(optionalDependencies)
      .filter(([name]) => !reached(packages, by, name))
      .map(([name, version]) => ({ name, version, by })),
  )
}

/** Resolves as Node does: in the folder of the dependent package, then in each folder above. */
function reached(packages, from, name) {
  for (let at = from; ; at = at.slice(0, Math.max(at.lastIndexOf('/node_modules/'), 0))) {
    if (packages[`${at === '' ? '' : `${at}/`}node_modules/${name}`] !== undefined) return true
    if (at === '') return false
  }
}

/** Returns the lock file with an entry for each lacking package, with the keys in npm's order. */
function completed(lock) {
  const packages = { ...lock.packages }
  for (const { name, version, by } of lacking(lock)) {
    if (!/^\d+\.\d+\.\d+$/.test(version)) throw new Error(`${by} wants ${name} ${version}, which is no exact version`)
    const { dev } = lock.packages[by]
    packages[`node_modules/${name}`] = { version, ...systemOf(name), ...(dev ? { dev } : {}), optional: true }
  }
  const sorted = Object.entries(packages).sort(([a], [b]) => a.localeCompare(b, 'en'))
  return { ...lock, packages: Object.fromEntries(sorted) }
}

const systems = ['android', 'darwin', 'freebsd', 'linux', 'openharmony', 'win32']
const processors = ['arm64', 'arm', 'x64', 'ia32', 'ppc64', 'riscv64', 's390x', 'wasm32']

/** `@oxc-parser/binding-linux-arm-musleabihf` is for Linux, arm, musl. */
function systemOf(name) {
  const words = name.split('/').at(-1).split('-')
  const os = systems.filter(each => words.includes(each))
  const cpu = processors.filter(each => words.includes(each))
  if (cpu.length !== 1 || (os.length !== 1 && cpu[0] !== 'wasm32'))
    throw new Error(`${name} does not say for which system it is`)
  const isMusl = words.some(each => each.startsWith('musl'))
  return { cpu, ...(os.length > 0 ? { os } : {}), ...(isMusl ? { libc: ['musl'] } : {}) }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const file = inRoot(process.argv[2] ?? '', 'package-lock.json')
  const lock = JSON.parse(readFileSync(file, 'utf8'))
  writeFileSync(file, `${JSON.stringify(completed(lock), null, 2)}\n`)
  console.log(`${lacking(lock).length} packages of other systems added`)
}
