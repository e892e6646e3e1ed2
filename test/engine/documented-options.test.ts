/** Every option of the public API has a comment that gives its default. Reads the emitted .d.ts of the three entry points. */
import { expect, test } from 'vitest'
import {
  type Declaration,
  type Declarations,
  declarationsIn,
  emittedDeclarations,
  namesIn,
} from '../../scripts/lib/declarations.mjs'

const entries = ['index.d.ts', 'http/index.d.ts', 'testing/index.d.ts']

/** Options that no caller sets, or that only forbid another option. */
const isNoOption = (comment: string, type: string) => comment === 'Types only.' || type === 'undefined'

/** One sentence for each option, of any type that a caller gives to a function or a method, without a comment or without its default. */
function undocumented(declarations: Declarations, exported: readonly string[]): string[] {
  const faults = new Set<string>()
  const seen = new Set<string>()

  const check = (owner: string, members: Declaration['members']) => {
    for (const { name, isOptional, comment, typeText } of members) {
      if (!isOptional || isNoOption(comment, typeText)) continue
      if (comment === '') faults.add(`${owner}.${name} has no comment`)
      else if (!/\bdefault\b/i.test(comment)) faults.add(`${owner}.${name} does not say its default`)
    }
  }
  /** The types that a part of a declaration names, with all types below. */
  const follow = (declared: Declaration, names: readonly string[]) => {
    for (const name of names) {
      const found = declarations.find(declared.path, name)
      if (found !== undefined && found.kind !== 'function' && found.kind !== 'const') visit(name, found)
    }
  }
  const visit = (name: string, declared: Declaration) => {
    const place = `${declared.path}#${name}`
    if (seen.has(place)) return
    seen.add(place)
    // The properties of a class are no options: the constructor has the options.
    if (declared.kind !== 'class') check(name, declared.members)
    for (const { type } of declared.members) if (type !== undefined) follow(declared, namesIn(type))
    follow(
      declared,
      declared.parents.flatMap(parent => parent.match(/\b[A-Z]\w*/g) ?? []),
    )
    if (declared.node.typeAnnotation !== undefined) follow(declared, namesIn(declared.node.typeAnnotation))
  }
  /** The methods of an interface and of its parents. */
  const methods = (declared: Declaration) => {
    for (const { name, parameters } of declared.members)
      for (const parameter of parameters) {
        follow(declared, namesIn(parameter))
        check(name, declared.literalsIn(parameter))
      }
    for (const parent of declared.parents) {
      const found = declarations.find(declared.path, /^\w+/.exec(parent)![0])
      if (found !== undefined) methods(found)
    }
  }

  for (const entry of exported)
    for (const each of declarations.exportsOf(entry)) {
      for (const parameter of each.parameters) follow(each, namesIn(parameter))
      if (each.kind === 'interface' || each.kind === 'class') methods(each)
    }
  return [...faults].sort()
}

test('every option of every public function and method has a comment with its default', () => {
  expect(undocumented(emittedDeclarations(), entries)).toEqual([])
})

test('every name of an entry point, and every method, has a comment', () => {
  const declarations = emittedDeclarations()
  const silent = new Set<string>()
  const methods = (name: string, declared: Declaration) => {
    const said = new Set(declared.members.flatMap(each => (each.comment === '' ? [] : [each.name])))
    for (const each of declared.members)
      if (each.isMethod && each.name !== 'constructor' && !said.has(each.name)) silent.add(`${name}.${each.name}`)
    for (const parent of declared.parents) {
      const found = declarations.find(declared.path, /^\w+/.exec(parent)![0])
      if (found !== undefined) methods(name, found)
    }
  }
  for (const each of entries.flatMap(entry => declarations.exportsOf(entry))) {
    if (each.comment === '') silent.add(each.name)
    methods(each.name, each)
  }
  expect([...silent]).toEqual([])
})

test('an option without a comment, or without a default, is noticed: in a parent, in another file and inline as well', () => {
  const files: Record<string, string> = {
    'index.d.ts': `export { type Engine, make } from './engine.ts';`,
    'engine.d.ts': `import type { Parent } from './parent.ts';
export interface MakeOptions {
    /** A number. Default 1. */
    said?: number;
    /** A number. */
    half?: number;
    silent?: number;
}
export interface Engine extends Parent {
    read(options?: { inline?: string }): void;
}
/** Makes. */
export declare function make(options?: MakeOptions): Engine;
`,
    'parent.d.ts': `export interface Filter {
    state?: string;
}
export interface Parent {
    list(filter?: Filter): void;
}
`,
  }
  expect(
    undocumented(
      declarationsIn(path => files[path]!),
      ['index.d.ts'],
    ),
  ).toEqual([
    'Filter.state has no comment',
    'MakeOptions.half does not say its default',
    'MakeOptions.silent has no comment',
    'read.inline has no comment',
  ])
})
