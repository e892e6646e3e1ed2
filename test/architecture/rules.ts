/**
 * The architecture as a table: which part may import which, and where SQL, clocks and chance may appear. A part is a
 * folder of src/ or a file directly in it; a part without a row is refused, so that a new one is a decision.
 */
import { builtinModules } from 'node:module'
import { posix } from 'node:path'
import { readSource, type Source } from './source.ts'

const anything = ['*']

/** Read as "may import"; a part always may import itself. */
const arrows: Record<string, string[]> = {
  version: [],
  brand: [],
  'error-table': [],
  errors: ['brand', 'error-table'],
  lib: ['errors'],
  core: ['errors', 'brand'],
  settings: ['core', 'lib', 'errors'],
  postgres: ['lib', 'errors'],
  store: ['core', 'lib', 'errors'],
  // What a process leaves for who looks after it, and who does: plain files and processes, no database.
  supervisor: ['core', 'lib', 'errors'],
  // Handlers in a thread or a process of their own; the parent owns the database.
  isolation: ['core', 'lib', 'errors'],
  // A thread of its own beside a worker: it has its own connection.
  heart: ['supervisor', 'store', 'core', 'lib', 'errors'],
  worker: ['heart', 'isolation', 'supervisor', 'store', 'core', 'lib', 'errors'],
  // The other side of isolation: it runs in the child, where an attempt is the worker's own but for where its steps are kept.
  child: ['worker', 'isolation', 'supervisor', 'store', 'core', 'lib', 'errors'],
  watchdog: ['store', 'core', 'lib', 'errors'],
  scheduler: ['store', 'core', 'lib', 'errors'],
  // The composition root, for jobs and (without a database of one's own) for the embedded server.
  engine: [
    'worker', 'watchdog', 'supervisor', 'scheduler', 'store', 'postgres', 'settings', 'core', 'lib', 'errors', 'version',
  ], // biome-ignore format: read as one list
  // The other way to the store: what an operator does to the database without an engine, a guard's sweep included.
  maintenance: ['watchdog', 'store', 'core', 'lib', 'errors', 'version'],
  config: ['core'],
  index: ['engine', 'maintenance', 'config', 'core', 'lib', 'errors', 'version'],
  // Views as programs read them, over HTTP and with --json.
  wire: ['index', 'core', 'errors'],
  http: ['wire', 'index', 'engine', 'core', 'lib', 'errors', 'version'],
  // Not store: a command says what it needs to the engine or to maintenance, and so can any other caller.
  cli: [
    'index',
    'engine',
    'maintenance',
    'supervisor',
    'isolation',
    'config',
    'http',
    'wire',
    'postgres',
    'settings',
    'core',
    'lib',
    'errors',
    'version',
  ],
  testing: anything,
  apps: ['index', 'http'],
}

/** For types alone: core may name the shape of a small thing, and the public door may show shapes of the parts behind. */
const typeArrows: Record<string, string[]> = {
  core: ['lib'],
  // A config brings routes.
  config: ['http'],
  index: ['worker', 'watchdog', 'store', 'settings'],
}

/** What core may use of others: reckoning that reads no clock, file or socket. */
const purePackages = ['croner']

const mayHoldSql = ['store', 'postgres', 'testing']
/** An application has tables of its own, and their statements in a store of its own. */
const isOwnStore = (path: string) => /^apps\/[^/]+\/store\//.test(path)
const mayReadTheClock = ['lib', 'testing']

const clockOrChance =
  /(?<![\w.$])(?:Date\.now\b|new Date(?:\(\s*\)|(?![\w(]))|Math\.random\b|(?:globalThis\.)?(?:setTimeout|setInterval|setImmediate)\b)/g

export interface Packages {
  /** What users get when they install the package. */
  dependencies: string[]
}

/** One sentence for each place where a file breaks a rule. `files`: path from the top of the repository to its text. */
export function brokenRules(files: Map<string, string>, packages: Packages): string[] {
  return [...files].flatMap(([path, text]) => {
    const source = readSource(text)
    const part = partOf(path)
    if (arrows[part] === undefined) return [`${path}: "${part}" has no row in the table of test/architecture/rules.ts`]
    return [
      ...brokenArrows(path, source),
      ...brokenPackages(path, source, packages),
      ...(mayHoldSql.includes(part) || isOwnStore(path)
        ? []
        : sqlIn(source).map(sql => `${path}: SQL outside store/: ${sql}`)),
      ...(mayReadTheClock.includes(part) ? [] : clocksIn(source).map(what => `${path}: ${what} outside lib/`)),
    ]
  })
}

/** `src/claiming/sql/claim.ts` is of store, `src/engine/create-engine.ts` is engine, `apps/quotes/jobs.ts` is of apps. */
function partOf(path: string): string {
  const [top, second = ''] = path.split('/')
  return top === 'src' ? second.replace(/\.[cm]?[jt]s$/, '') : (top ?? '')
}

function brokenArrows(path: string, { imports }: Source): string[] {
  const part = partOf(path)
  const may = arrows[part]!
  return imports.flatMap(({ from, typeOnly }) => {
    const target = ownPart(path, from)
    if (target === undefined || target === part || may === anything || may.includes(target)) return []
    if (typeOnly && typeArrows[part]?.includes(target)) return []
    return [`${path}: ${part} may not import ${target} (${from})`]
  })
}

/** The part of ours that a specifier leads to; undefined for a package. */
function ownPart(path: string, from: string): string | undefined {
  if (from.startsWith('.')) return partOf(posix.join(posix.dirname(path), from))
  if (from === 'retoma') return 'index'
  return from.startsWith('retoma/') ? from.slice('retoma/'.length) : undefined
}

function brokenPackages(path: string, { imports }: Source, { dependencies }: Packages): string[] {
  const part = partOf(path)
  return imports.flatMap(({ from, typeOnly }) => {
    if (ownPart(path, from) !== undefined) return []
    const name = packageOf(from)
    const isNode = from.startsWith('node:') || builtinModules.includes(name)
    if (part === 'core' && !typeOnly && !purePackages.includes(name))
      return [`${path}: core is pure and may not import ${from}`]
    return isNode || dependencies.includes(name)
      ? []
      : [`${path}: ${name} is not among the dependencies of package.json`]
  })
}

const packageOf = (from: string) =>
  from
    .split('/')
    .slice(0, from.startsWith('@') ? 2 : 1)
    .join('/')

const sqlShapes = [
  /^select\s[\s\S]*\sfrom\s/,
  /^select\s+(?:\w+\(|\d|\$\d|distinct\b|exists\b|current_)/,
  /^insert\s+into\s/,
  /^update\s+\S+(?:\s+(?:as\s+)?\w+)?\s+set\s/,
  /^delete\s+from\s/,
  /^with\s+(?:recursive\s+)?\w+\s*(?:\([^)]*\)\s*)?as\s/,
  /^(?:create|alter|drop)\s+(?:or\s+replace\s+|unique\s+|temp(?:orary)?\s+)?(?:table|index|schema|view|type|function|database|role|user|extension|sequence|trigger)\s/,
  /^(?:truncate|listen|notify|grant|revoke|lock\s+table|set\s+(?:local|session))\s+[\w"$]/,
]

function sqlIn({ strings }: Source): string[] {
  return strings.flatMap(text => {
    const start = text.replace(/^(?:\s|--.*\n|\\n)+/, '')
    const first = /^\w+/.exec(start)?.[0] ?? ''
    // A sentence may begin with "Select"; a statement is written in one case.
    const oneCase = first === first.toLowerCase() || first === first.toUpperCase()
    if (!oneCase || !sqlShapes.some(shape => shape.test(start.toLowerCase()))) return []
    return [start.replace(/\s+/g, ' ').slice(0, 60)]
  })
}

const clocksIn = ({ code }: Source) => [...new Set([...code.matchAll(clockOrChance)].map(match => match[0]))]
