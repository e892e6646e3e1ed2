/** Prints the page of an entry point for the API reference: every exported name with its comment, signature, members, defaults and examples. */
import { emittedDeclarations } from './declarations.mjs'

/** `entry`: the path of the declarations below dist/; `name`: the name that a program imports; `opening`: the first paragraph. */
export function apiPage({ entry, name, opening }) {
  const declarations = emittedDeclarations()
  const all = declarations.exportsOf(entry)
  const known = new Set(all.map(each => each.name))
  const functions = all.filter(
    ({ kind, isType }) => !isType && (kind === 'function' || kind === 'const' || kind === 'class'),
  )
  const first = all.filter(each => each.name === 'Engine')
  const types = all.filter(each => !functions.includes(each) && !first.includes(each))
  // A type with the name of a function, such as Skip and skip, would have the same anchor.
  const values = new Set(functions.map(({ name }) => name.toLowerCase()))
  for (const each of types) each.heading = values.has(each.name.toLowerCase()) ? `Type ${each.name}` : each.name
  const print = each => section(each, known, declarations)
  return `${[
    `# API of \`${name}\``,
    `${opening} Printed from the types by \`npm run docs\`; change the comments in src/.`,
    indexOf('Functions', functions),
    ...(first.length > 0 ? [indexOf('The engine', first)] : []),
    indexOf('Types', types),
    '## Functions',
    ...functions.map(print),
    ...(first.length > 0 ? ['## The engine', ...first.map(print)] : []),
    '## Types',
    ...types.map(print),
  ].join('\n\n')}\n`
}

const indexOf = (title, list) => `**${title}:** ${list.map(({ name, heading }) => link(name, heading)).join(', ')}`
const link = (name, heading = name) => `[${name}](#${heading.toLowerCase().replaceAll(' ', '-')})`

function section(declared, known, declarations) {
  const { name, heading = name, kind, comment, signatures } = declared
  const parts = [`### ${heading}`, ...proseOf(comment)]
  if (kind === 'interface' || kind === 'class') parts.push(...membersOf(declared, known, declarations))
  else parts.push(codeOf(signatures.join('\n')))
  return [...parts, ...examplesOf(comment)].join('\n\n')
}

/** The members of an interface or a class. The members of a parent that the entry point does not export are its own. */
function membersOf(declared, known, declarations) {
  const inherited = []
  const collect = each => {
    const own = each.parents.flatMap(parent => {
      const name = /^\w+/.exec(parent)[0]
      const found = known.has(name) ? undefined : declarations.find(each.path, name)
      if (found?.members === undefined || found.kind !== 'interface') inherited.push(parent)
      return found?.kind === 'interface' ? collect(found) : []
    })
    return [...each.members, ...own]
  }
  const members = collect(declared).filter(({ name }) => name !== '[Symbol.asyncDispose]')
  const properties = members.filter(member => !member.isMethod)
  const methods = new Map()
  for (const member of members.filter(each => each.isMethod))
    methods.set(member.name, [...(methods.get(member.name) ?? []), member])
  const parents = inherited.map(parent => (known.has(parent) ? link(parent) : `\`${parent}\``))
  return [
    ...(parents.length > 0 ? [`Has also the members of ${parents.join(', ')}.`] : []),
    ...(properties.length > 0 ? [tableOf(properties)] : []),
    ...[...methods].flatMap(([name, overloads]) => methodOf(`${declared.name}.${name}`, overloads)),
  ]
}

function methodOf(name, overloads) {
  const comments = overloads.map(({ comment }) => comment).filter(comment => comment !== '')
  return [
    `#### ${name}`,
    codeOf(overloads.map(({ signature }) => signature.replaceAll('\n    ', '\n')).join('\n')),
    ...comments.flatMap(proseOf),
    ...comments.flatMap(examplesOf),
  ]
}

function tableOf(properties) {
  const rows = properties.map(({ name, isOptional, typeText, signature, comment }) => {
    const [meaning, byDefault] = defaultOf(proseOf(comment).join(' '))
    const type = typeText || signature.replace(/^readonly /, '').slice(name.length)
    return [`\`${name}${isOptional ? '?' : ''}\``, `\`${type.replace(/\s+/g, ' ')}\``, byDefault, meaning]
  })
  const hasDefaults = rows.some(row => row[2] !== '')
  const heads = ['name', 'type', 'default', 'meaning']
  return [heads, heads.map(() => '---'), ...rows]
    .map(
      row =>
        `| ${row
          .filter((_, index) => hasDefaults || index !== 2)
          .map(cell)
          .join(' | ')} |`,
    )
    .join('\n')
}

/** Separates the sentence about the default from the rest. */
function defaultOf(text) {
  const found = /(?:^|(?<=[.;:] ))Default:? (.*?)(?:\.(?= |$)|$)/.exec(text)
  if (found === null) return [text, '']
  return [
    (text.slice(0, found.index) + text.slice(found.index + found[0].length)).replace(/ {2,}/g, ' ').trim(),
    found[1],
  ]
}

const cell = text => text.replaceAll('\n', ' ').replaceAll('|', '\\|')

/** The paragraphs of a comment before the examples. */
const proseOf = comment =>
  (comment.split(/^@example$/m)[0] ?? '')
    .trim()
    .split(/\n{2,}/)
    .map(paragraph => paragraph.replaceAll('\n', ' '))
    .filter(paragraph => paragraph !== '')

const examplesOf = comment =>
  comment
    .split(/^@example$/m)
    .slice(1)
    .map(example => `\`\`\`ts\n${example.trim()}\n\`\`\``)

/** Not `ts`: the blocks with this mark are programs, and a test compiles these programs. */
const codeOf = code => `\`\`\`typescript\n${code}\n\`\`\``
