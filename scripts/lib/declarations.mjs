/**
 * Reads the emitted declarations (dist/**\/*.d.ts) of an entry point: every exported name with comment, signature and members, from any
 * file. TypeScript 7 has no compiler API, so oxc-parser parses the files.
 */
import { readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { parseSync } from 'oxc-parser'

/** `read`: returns the text of a declaration file, by the path below dist/. */
export function declarationsIn(read) {
  const modules = new Map()
  const moduleAt = path => {
    if (!modules.has(path)) modules.set(path, parseModule(path, read(path)))
    return modules.get(path)
  }
  const joined = (path, from) => posix.join(posix.dirname(path), from).replace(/\.[jt]s$/, '.d.ts')

  /** The declarations of a name as a module sees the name; undefined for names of packages and of the language. */
  function find(path, name) {
    const module = moduleAt(path)
    const own = module.declarations.get(name)
    if (own !== undefined) return own
    const { from, name: original } = module.exports.get(name) ?? module.imports.get(name) ?? {}
    if (from === undefined) return original === undefined || original === name ? undefined : find(path, original)
    return from.startsWith('.') ? find(joined(path, from), original) : undefined
  }

  return {
    /** The exported names of an entry point, in alphabetical order, each with its declaration. */
    exportsOf: entry =>
      [...moduleAt(entry).exports]
        .sort(([a], [b]) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1))
        .map(([name, { isType }]) => ({ name, isType, ...find(entry, name) })),
    find,
  }
}

export const emittedDeclarations = () =>
  declarationsIn(path => readFileSync(new URL(`../../dist/${path}`, import.meta.url), 'utf8'))

function parseModule(path, text) {
  const { program, comments } = parseSync(path, text)
  const commentOf = start => commentBefore(text, comments, start)
  const module = { imports: new Map(), exports: new Map(), declarations: new Map() }
  for (const statement of program.body) {
    if (statement.type === 'ImportDeclaration')
      for (const { local, imported } of statement.specifiers)
        module.imports.set(local.name, { from: statement.source.value, name: imported?.name ?? 'default' })
    if (statement.type === 'ExportNamedDeclaration' && statement.declaration === null)
      for (const { local, exported, exportKind } of statement.specifiers)
        module.exports.set(exported.name, {
          from: statement.source?.value,
          name: local.name,
          isType: exportKind === 'type' || statement.exportKind === 'type',
        })
    const isExport = statement.type === 'ExportNamedDeclaration' && statement.declaration !== null
    const declared = isExport ? statement.declaration : statement
    for (const [name, part] of partsOf(declared)) {
      if (isExport) module.exports.set(name, { from: undefined, name })
      add(module.declarations, name, describe(path, text, declared, part, statement.start, commentOf))
    }
  }
  return module
}

/** Overloads of a function are one declaration with several signatures. */
function add(declarations, name, found) {
  const before = declarations.get(name)
  if (before === undefined) declarations.set(name, found)
  else {
    before.signatures.push(...found.signatures)
    before.comment ||= found.comment
    before.parameters.push(...found.parameters)
  }
}

function partsOf(statement) {
  switch (statement.type) {
    case 'TSDeclareFunction':
    case 'FunctionDeclaration':
    case 'ClassDeclaration':
    case 'TSInterfaceDeclaration':
    case 'TSTypeAliasDeclaration':
      return [[statement.id.name, statement]]
    case 'VariableDeclaration':
      return statement.declarations.map(each => [each.id.name, each])
    default:
      return []
  }
}

const kinds = {
  TSDeclareFunction: 'function',
  FunctionDeclaration: 'function',
  ClassDeclaration: 'class',
  TSInterfaceDeclaration: 'interface',
  TSTypeAliasDeclaration: 'type',
}

function describe(path, text, declared, part, start, commentOf) {
  const kind = kinds[declared.type] ?? 'const'
  const source = node => text.slice(node.start, node.end)
  const given = {
    path,
    kind,
    comment: commentOf(start),
    source,
    node: part,
    literalsIn: part =>
      nodesIn(part, 'TSTypeLiteral').flatMap(({ members }) =>
        members.flatMap(each => memberOf(each, source, commentOf) ?? []),
      ),
    signatures: [],
    members: [],
    parents: [],
    parameters: [],
  }
  if (kind === 'function' || kind === 'const') {
    given.signatures.push(
      source(declared)
        .replace(/^export |^declare /g, '')
        .replace(/;$/, ''),
    )
    given.parameters.push(
      ...parametersOf(kind === 'function' ? part : (part.id.typeAnnotation?.typeAnnotation ?? part)),
    )
    return given
  }
  if (kind === 'type') {
    given.signatures.push(source(part).replace(/;$/, ''))
    given.members.push(...literalMembers(part.typeAnnotation, source, commentOf))
    return given
  }
  given.head = text
    .slice(part.start, part.body.start)
    .replace(/^declare /, '')
    .trim()
  given.parents.push(
    ...(part.extends ?? []).map(each => source(each)),
    ...(part.superClass ? [source(part.superClass)] : []),
  )
  given.members.push(...part.body.body.flatMap(member => memberOf(member, source, commentOf) ?? []))
  return given
}

/** The members of the object types that an alias joins. */
function literalMembers(type, source, commentOf) {
  if (type.type === 'TSTypeLiteral') return type.members.flatMap(member => memberOf(member, source, commentOf) ?? [])
  if (type.type === 'TSIntersectionType') return type.types.flatMap(each => literalMembers(each, source, commentOf))
  return []
}

function memberOf(member, source, commentOf) {
  if (member.accessibility === 'private' || member.key?.type === 'PrivateIdentifier') return undefined
  const signature = source(member).replace(/;$/, '')
  const isConstructor = member.kind === 'constructor' || member.type === 'TSConstructSignatureDeclaration'
  const name = isConstructor ? 'constructor' : member.key === undefined ? '' : source(member.key)
  const isMethod =
    ['TSMethodSignature', 'MethodDefinition', 'TSAbstractMethodDefinition'].includes(member.type) &&
    member.kind !== 'get'
  const type = (member.typeAnnotation ?? (member.kind === 'get' ? member.value.returnType : undefined))?.typeAnnotation
  return {
    name,
    signature,
    comment: commentOf(member.start),
    isOptional: member.optional === true,
    isMethod,
    type,
    typeText: type !== undefined ? source(type) : member.value?.type === 'Literal' ? source(member.value) : '',
    parameters: isMethod ? parametersOf(member.value ?? member) : parametersOf(type),
  }
}

/** The types of the parameters of a function or of a function type. */
const parametersOf = node =>
  (node?.params ?? node?.parameters ?? []).flatMap(
    each => each.typeAnnotation?.typeAnnotation ?? each.argument?.typeAnnotation?.typeAnnotation ?? [],
  )

/** The text of the comment directly before `start`, without the stars. */
function commentBefore(text, comments, start) {
  const comment = comments.findLast(each => each.end <= start)
  if (comment === undefined || comment.type !== 'Block' || !comment.value.startsWith('*')) return ''
  if (text.slice(comment.end, start).trim() !== '') return ''
  return comment.value
    .slice(1)
    .split('\n')
    .map(line => line.replace(/^\s*\* ?/, ''))
    .join('\n')
    .trim()
}

/** The names of the types in a part of the tree. */
export const namesIn = node =>
  nodesIn(node, 'TSTypeReference').flatMap(({ typeName }) => (typeName.type === 'Identifier' ? [typeName.name] : []))

function nodesIn(node, type) {
  if (node === null || typeof node !== 'object') return []
  const below = Object.values(node).flatMap(each => nodesIn(each, type))
  return node.type === type ? [node, ...below] : below
}
