/** The part of declarations.mjs that tests use. */

/** A part of the syntax tree. */
type Tree = Readonly<Record<string, unknown>>

export interface Member {
  name: string
  signature: string
  comment: string
  isOptional: boolean
  isMethod: boolean
  type: Tree | undefined
  typeText: string
  parameters: Tree[]
}

export interface Declaration {
  path: string
  kind: 'interface' | 'type' | 'class' | 'function' | 'const'
  comment: string
  node: Tree & { typeAnnotation?: Tree }
  members: Member[]
  parents: string[]
  parameters: Tree[]
  /** The members of the inline object types in a part of the tree. */
  literalsIn(node: Tree): Member[]
}

export interface Declarations {
  exportsOf(entry: string): (Declaration & { name: string })[]
  find(path: string, name: string): Declaration | undefined
}

export function declarationsIn(read: (path: string) => string): Declarations
export function emittedDeclarations(): Declarations
/** The names of the types in a part of the tree. */
export function namesIn(node: Tree): string[]
