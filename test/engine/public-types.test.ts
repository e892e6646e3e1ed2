/** Every type that a public signature names can be imported, and no exported name is so general that it says nothing. Reads the emitted .d.ts. */
import { readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { expect, test } from 'vitest'

interface Declaration {
  kind: string
  text: string
}

interface Module {
  imports: Map<string, { from: string; name: string }>
  exports: Map<string, { from: string | undefined; name: string }>
  declarations: Map<string, Declaration>
}

type Read = (path: string) => string

const withoutComments = (text: string) => text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/\/\/.*$/gm, '')

/** `a, type B as C` as pairs of the name outside and the name inside. */
const specifiers = (list: string): [string, string][] =>
  list
    .split(',')
    .map(each => /^(?:type )?(\w+)(?: as (\w+))?$/.exec(each.trim()))
    .flatMap(match => (match === null ? [] : [[match[2] ?? match[1]!, match[1]!]]))

function parse(text: string): Module {
  const code = withoutComments(text)
  const module: Module = { imports: new Map(), exports: new Map(), declarations: new Map() }
  for (const [, list, from] of code.matchAll(/import (?:type )?\{([^}]*)\} from '([^']*)'/g))
    for (const [as, name] of specifiers(list!)) module.imports.set(as, { from: from!, name })
  for (const [, list, from] of code.matchAll(/export (?:type )?\{([^}]*)\}(?: from '([^']*)')?/g))
    for (const [as, name] of specifiers(list!)) module.exports.set(as, { from, name })
  const body = code
    .replace(/^import [^;]*?from '[^']*';?$/gm, '')
    .replace(/^export (?:type )?\{[^}]*\}(?: from '[^']*')?;?$/gm, '')
  const heads = [
    ...body.matchAll(/^(export )?(?:declare )?(?:abstract )?(interface|type|class|function|const) (\w+)/gm),
  ]
  heads.forEach((head, index) => {
    const [, exported, kind, name] = head
    const before = module.declarations.get(name!)?.text ?? ''
    module.declarations.set(name!, { kind: kind!, text: before + body.slice(head.index, heads[index + 1]?.index) })
    if (exported !== undefined) module.exports.set(name!, { from: undefined, name: name! })
  })
  return module
}

/** Sentences about types that a signature of the entries names and that no entry exports. */
function notImportable(entries: readonly string[], read: Read): string[] {
  const modules = new Map<string, Module>()
  const load = (path: string): Module => {
    const module = modules.get(path) ?? parse(read(path))
    modules.set(path, module)
    return module
  }
  const joined = (path: string, from: string) => posix.join(posix.dirname(path), from).replace(/\.[jt]s$/, '.d.ts')

  /** The place of a declaration, as `path#name`; undefined for names of packages and of the language. */
  function placeOf(path: string, name: string): string | undefined {
    const { declarations, exports, imports } = load(path)
    if (declarations.has(name)) return `${path}#${name}`
    const exported = exports.get(name)
    if (exported?.from?.startsWith('.')) return placeOf(joined(path, exported.from), exported.name)
    const imported = imports.get(exported?.name ?? name)
    return imported?.from.startsWith('.') ? placeOf(joined(path, imported.from), imported.name) : undefined
  }
  const declarationAt = (place: string): Declaration => {
    const [path, name] = place.split('#') as [string, string]
    return load(path).declarations.get(name)!
  }

  const open = entries.flatMap(entry => [...load(entry).exports.keys()].map(name => placeOf(entry, name)))
  const known = new Set(open.filter(place => place !== undefined))
  const todo = [...known]
  const seen = new Set<string>()
  const found: string[] = []
  for (let place = todo.pop(); place !== undefined; place = todo.pop()) {
    if (seen.has(place)) continue
    seen.add(place)
    const [path, own] = place.split('#') as [string, string]
    const { kind, text } = declarationAt(place)
    const parents = /^[^{]*?\bextends ([^{]*)\{/.exec(kind === 'interface' ? text : '')?.[1] ?? ''
    const signature = text.replace(parents, '').replace(/'(?:[^'\\\n]|\\.)*'/g, '')
    for (const [, name] of `${signature} ${parents}`.matchAll(/(?<![.\w$])([A-Za-z_]\w*)\b(?!\s*\??:)/g)) {
      const used = name === own ? undefined : placeOf(path, name!)
      if (used === undefined) continue
      const isType = !['const', 'function'].includes(declarationAt(used).kind)
      // The members of a parent count, its name does not. An alias may be composed of parts without a name outside.
      const isNamed = kind !== 'type' && new RegExp(`(?<![.\\w$])${name}\\b`).test(signature)
      if (isType && isNamed && !known.has(used)) found.push(`${own} (${path}) names ${name}, which no entry exports`)
      if (isType) todo.push(used)
    }
  }
  return [...new Set(found)].sort()
}

const dist = new URL('../../dist/', import.meta.url)
const emitted: Read = path => readFileSync(new URL(path, dist), 'utf8')

test('every type in a signature of retoma, retoma/http and retoma/testing can be imported', () => {
  expect(notImportable(['index.d.ts', 'http/index.d.ts', 'testing/index.d.ts'], emitted)).toEqual([])
})

test('the types of retoma itself need no other entry, but for the routes and systems of a config', () => {
  const faults = notImportable(['index.d.ts'], emitted).filter(fault => !fault.includes('(http/'))
  expect(faults).toEqual([
    'Config (config.d.ts) names Route, which no entry exports',
    'Config (config.d.ts) names System, which no entry exports',
  ])
})

test('a type that is not exported is noticed, in a parent and in another file as well', () => {
  const files: Record<string, string> = {
    'index.d.ts': `export { type Engine, make } from './engine.ts';`,
    'engine.d.ts': `import type { Parent } from './parent.ts';
interface Local {
    a: string;
}
export interface Engine extends Parent {
    read(): Promise<Local>;
}
export declare function make(): Engine;
`,
    'parent.d.ts': `export interface Order {
    id: string;
}
type Part = {
    b: number;
};
export type Whole = Part | Order;
export interface Parent {
    order(given: Order): void;
}
`,
  }
  expect(notImportable(['index.d.ts'], path => files[path]!)).toEqual([
    'Engine (engine.d.ts) names Local, which no entry exports',
    'Parent (parent.d.ts) names Order, which no entry exports',
  ])
})

test('no name at the root is so general that it does not say what it is of', () => {
  const names = [...parse(emitted('index.d.ts')).exports.keys()]
  const general =
    'now say State Plan Page Action Rate Role Policy Messages Limits Labels Metric Notice Known Passed Explained By Care Saying Now Files Stats Progress Result Options Told'
  expect(names.filter(name => general.split(' ').includes(name))).toEqual([])
  expect(names).toContain('createEngine')
})
