/**
 * Compiles src/ into as few files as can be: Node needs half a millisecond for each file that it loads, and a process of Retoma would load
 * some four hundred.
 *
 * Invariant: dist/ has one file for each module of src/, at the same path and with the same exports. Modules that are always loaded
 * together live in one file of dist/chunks/, and their own files only export from there. So a module that an entry point does not import
 * is not loaded, and no module exists twice.
 */
import { readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { Trouble } from './trouble.mjs'

/** Modules that programs import, and modules that a process or a thread starts from. */
const entries = [
  'index',
  'http/index',
  'testing/index',
  'register',
  'cli/main',
  'cli/child-loader',
  'isolation/child/entry',
  'isolation/child/memory-watch',
  'heartbeat/thread-main',
]

/** `source`: the folder of the sources; `target`: the folder of the compiled modules. */
export async function joinModules({ source, target }) {
  // Loaded only here: the set-up runs before anything is installed.
  const { rolldown } = await import('rolldown')
  const names = readdirSync(source, { recursive: true })
    .filter(name => name.endsWith('.ts') && !/\.(test|d)\.ts$/.test(name))
    .map(name => name.slice(0, -'.ts'.length))
  const bundle = await rolldown({
    input: Object.fromEntries(names.map(name => [name, join(source, `${name}.ts`)])),
    platform: 'node',
    external: id => !id.startsWith('.') && !id.startsWith('/'),
    treeshake: false,
    onLog(level, log) {
      if (level === 'warn' && !expected.has(log.code)) throw new Trouble(log.message)
    },
  })
  let nameOf
  await bundle.write({
    dir: target,
    format: 'esm',
    sourcemap: true,
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name].js',
    codeSplitting: {
      includeDependenciesRecursively: false,
      groups: [
        {
          debugName: 'loaded together',
          minSize: 0,
          name(id, context) {
            nameOf ??= chunkNames(source, names, path => context.getModuleInfo(path))
            return nameOf.get(id)
          },
        },
      ],
    },
  })
  await bundle.close()
}

/** Logs about options that follow from the ones above. */
const expected = new Set(['INVALID_OPTION'])

/**
 * Returns the chunk name of each module: modules needed by the same roots share a chunk. A module without companions has no chunk.
 */
function chunkNames(source, names, getModuleInfo) {
  const pathOf = name => join(source, `${name}.ts`)
  const infos = new Map(names.map(name => [pathOf(name), getModuleInfo(pathOf(name))]))
  // A dynamic import is loaded only on demand, so the imported module is a root.
  const dynamic = [...infos.values()].flatMap(info => info.dynamicallyImportedIds).filter(id => infos.has(id))
  const roots = [...new Set([...entries.map(pathOf), ...dynamic])]
  const needs = new Map(names.map(name => [pathOf(name), []]))
  for (const root of roots) {
    const reached = new Set([root])
    for (const id of reached) {
      needs.get(id).push(root)
      for (const next of infos.get(id).importedIds) if (infos.has(next)) reached.add(next)
    }
  }
  const chunks = new Map()
  // An entry point acts on load, so no entry point is loaded with another module.
  const alone = new Set(entries.map(pathOf))
  for (const [id, roots] of needs)
    if (!alone.has(id)) chunks.set(roots.join(), [...(chunks.get(roots.join()) ?? []), id])
  const found = new Map()
  for (const [roots, ids] of chunks) {
    if (roots === '' || ids.length === 1) continue
    const first = relative(source, ids[0]).slice(0, -'.ts'.length)
    for (const id of ids) found.set(id, first.replaceAll('/', '-'))
  }
  return found
}
