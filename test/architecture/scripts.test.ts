/**
 * bench/ and chaos/ are plain scripts that reach into the built product: no compiler sees when what they import has moved.
 * Each name is looked for in the source of the module it is imported from.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))

function scriptsIn(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap(entry => {
    const path = `${folder}/${entry.name}`
    if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : scriptsIn(path)
    return path.endsWith('.mjs') ? [path] : []
  })
}

/** What a script imports of the product and is not there. */
function missing(path: string, text: string): string[] {
  return [...text.matchAll(/import \{([^}]*)\} from '(\.[^']*\/dist\/[^']+)\.js'/g)].flatMap(([, names, from]) => {
    const source = posix
      .join(posix.dirname(path), from!)
      .replace(/^dist\//, 'src/')
      .replace(/^(apps\/\w+\/)dist\//, '$1')
    const module = read(`${source}.ts`)
    if (module === undefined) return [`${path}: there is no ${source}.ts`]
    const exported = (name: string) =>
      new RegExp(
        `export (?:async )?(?:function\\*?|const|class) ${name}\\b|export \\{[^}]*\\b${name}\\b[^}]*\\}|export \\*`,
      ).test(module)
    return names!
      .split(',')
      .map(each => each.trim().split(' as ')[0]!)
      .filter(name => name !== '' && !exported(name))
      .map(name => `${path}: ${source}.ts has no ${name}`)
  })
}

function read(path: string): string | undefined {
  try {
    return readFileSync(join(root, path), 'utf8')
  } catch {
    return undefined
  }
}

test('what bench and chaos import of the product is there', () => {
  const scripts = [...scriptsIn('bench'), ...scriptsIn('chaos')]
  expect(scripts.length).toBeGreaterThan(20)
  expect(scripts.flatMap(path => missing(path, read(path)!))).toEqual([])
})

test('what has moved is noticed', () => {
  const moved = `import { recoverOrphans } from '../../dist/recovery/sql/dead-workers.js'`
  expect(missing('bench/proofs/pinned.mjs', moved)).toEqual([
    'bench/proofs/pinned.mjs: src/recovery/sql/dead-workers.ts has no recoverOrphans',
  ])
  expect(missing('bench/run.mjs', `import { a } from '../dist/gone.js'`)).toEqual([
    'bench/run.mjs: there is no src/gone.ts',
  ])
})
