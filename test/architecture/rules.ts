/**
 * The architecture as a table: which part of the source may import which, and where SQL, clocks and randomness may appear.
 *
 * A part is a capability and a layer. `src/jobs/model/` holds pure rules, `src/jobs/sql/` (or a single `*.sql.ts`) holds the SQL, and
 * the other files of `src/jobs/` are services. The doors (`http`, `cli`, `settings`, `testing`) and `embedded-postgres` are one part each,
 * with all their folders. A part without a row is an error, so that a new part is a decision. layout.ts has the rules about folders and names.
 */
import { builtinModules } from 'node:module'
import { posix } from 'node:path'
import { readSource, type Source } from './source.ts'

const anything = ['*']

/** A service may import its own model and SQL, every model, and these parts. The row of the service adds parts of other capabilities. */
const ground = ['database', 'lib', 'lib/values', 'errors']

/** The other parts that each part may import; a part may always import itself. */
const arrows: Record<string, string[]> = {
  // Ground.
  version: ['lib'],
  errors: [],
  'lib/values': ['errors'],
  lib: ['lib/values', 'errors'],
  settings: ['lib', 'lib/values', 'errors'],
  // Plain rules of jobs: the types of queries, and which errors are worth a retry.
  database: ['jobs/model', 'lib', 'lib/values', 'errors'],
  'embedded-postgres': ['lib', 'lib/values', 'errors'],

  // The life of a job.
  jobs: [...ground, 'batches', 'batches/sql'],
  enqueue: [...ground, 'idempotency', 'idempotency/sql', 'jobs/sql', 'limits/sql'],
  claiming: [...ground, 'execution', 'isolation', 'jobs/sql', 'limits/sql', 'worker/sql'],
  execution: [...ground, 'claiming/sql', 'isolation', 'providers', 'worker/sql'],
  recovery: [...ground, 'supervisor', 'worker/sql'],
  erasure: [...ground, 'batches', 'files/sql'],

  // Processes. A supervisor and a child have no database.
  supervisor: ['lib', 'lib/values', 'errors'],
  isolation: ['lib', 'lib/values', 'errors'],
  // The child process runs attempts as a worker does; the parent stores their steps.
  'isolation/child': [...ground, 'claiming/sql', 'execution', 'isolation', 'supervisor'],
  // A thread beside a worker, with a connection of its own.
  heartbeat: [...ground, 'supervisor', 'worker/sql'],
  worker: [
    ...ground, 'batches', 'batches/sql', 'claiming', 'claiming/sql', 'enqueue', 'events/sql', 'execution', 'execution/sql', 'files',
    'files/sql', 'heartbeat', 'incidents', 'isolation', 'jobs', 'metrics/sql', 'providers/sql', 'supervisor', 'version',
  ], // biome-ignore format: read as one list

  // Capabilities.
  auth: [...ground, 'idempotency', 'idempotency/sql', 'limits'],
  batches: [...ground, 'enqueue'],
  events: ground,
  explain: [...ground, 'batches/sql', 'jobs/sql'],
  files: ground,
  guards: [...ground, 'enqueue/sql'],
  idempotency: ground,
  incidents: [...ground, 'version'],
  limits: [...ground, 'jobs/sql'],
  // Everything an operator does to the database without an engine, and the janitor.
  maintenance: [
    ...ground, 'batches/sql', 'events/sql', 'files/sql', 'guards', 'guards/sql', 'jobs/sql', 'limits/sql', 'recovery/sql', 'version',
  ], // biome-ignore format: read as one list
  metrics: [...ground, 'providers/sql', 'version'],
  providers: ground,
  schedules: [...ground, 'enqueue', 'enqueue/sql', 'idempotency', 'idempotency/sql'],

  // The composition root: every capability.
  engine: anything,

  // Doors. A door has no SQL: a command or a route calls the engine or maintenance, as any other program can.
  config: [],
  register: [],
  // Isolation loads the loader by its address.
  'module-loader': ['index', 'http'],
  index: ['engine', 'providers', 'config', 'settings', 'lib', 'lib/values', 'errors', 'version'],
  // Jobs, batches and the rest as JSON, for HTTP and for --json.
  'json-views': ['index', 'lib/values', 'errors'],
  http: ['json-views', 'index', 'engine', 'lib', 'lib/values', 'errors', 'version'],
  cli: [
    'index', 'engine', 'maintenance', 'supervisor', 'isolation', 'incidents', 'config', 'module-loader', 'http', 'json-views',
    'embedded-postgres',
    'settings', 'lib', 'lib/values', 'errors', 'version',
  ], // biome-ignore format: read as one list
  testing: anything,
  apps: ['index', 'http'],
}

/** Parts that `anything` does not reach: only doors import doors. */
const doors = ['index', 'config', 'json-views', 'http', 'cli', 'testing', 'apps']

/** For types alone: a model may name the shape of a clock, and the public door may show shapes of the parts behind. */
const typeArrows: Record<string, string[]> = {
  // A config brings routes, and the connection as the engine takes it.
  config: ['http', 'errors', 'engine'],
  index: anything,
}

/** What a model may use of others: computation that reads no clock, file or socket. */
const purePackages = ['croner']

const mayReadTheClock = ['lib', 'testing']

const clockOrChance =
  /(?<![\w.$])(?:Date\.now\b|new Date(?:\(\s*\)|(?![\w(]))|Math\.random\b|(?:globalThis\.)?(?:setTimeout|setInterval|setImmediate)\b)/g

/** On Node 20 the garbage collector takes such a timeout, and the combined signal never aborts. */
const lostTimeout = /AbortSignal\.any\(\s*\[[^\]]*\bAbortSignal\.timeout\b/g

/** Capabilities that keep no state in a module: an engine makes the objects and passes the objects in. */
const withoutModuleState =
  /^src\/(?:worker|execution|claiming|isolation|supervisor|heartbeat|jobs|batches|recovery)\/(?!.*\.test\.ts$)/
/** Values of a module that change and are no state, each with the reason. */
const mayChange = new Map([
  ['src/claiming/prefetch-sizing.ts: largest', 'memory for one calculation, written anew by each'],
])

/** A declaration at the top of a module that can change: `let`, or a collection without a read-only type. */
const moduleState =
  /^(?:export )?(?:(?:let|var) (\w+)|const (\w+)(?:: (?!Readonly)[^=]*)? = new (?:Map|Set|WeakMap|WeakSet|AsyncLocalStorage|AbortController|EventEmitter|\w*Array)\b|const (\w+)(?:: (?!readonly|Readonly)[^=]*)? = (?:\[\s*\]|\{\s*\})\s*$)/gm

export interface Packages {
  /** What users get when they install the package. */
  dependencies: string[]
  /** The same of each package in apps/, by its folder. */
  apps?: Readonly<Record<string, string[]>>
}

/** One sentence for each place where a file breaks a rule. `files`: path from the top of the repository to its text. */
export function brokenRules(files: Map<string, string>, packages: Packages): string[] {
  return [...files].flatMap(([path, text]) => {
    const source = readSource(text)
    const part = partOf(path)
    if (mayImport(part) === undefined)
      return [`${path}: "${part}" has no row in the table of test/architecture/rules.ts`]
    return [
      ...brokenArrows(path, source),
      ...brokenPackages(path, source, packages),
      ...[...text.matchAll(lostTimeout)].map(() => `${path}: a timeout that only AbortSignal.any refers to`),
      ...(mayHoldSql(path) ? [] : sqlIn(source).map(sql => `${path}: SQL outside sql/: ${sql}`)),
      ...moduleStateIn(path, source).map(name => `${path}: module state: ${name}`),
      ...(mayReadTheClock.includes(part) ? [] : clocksIn(source).map(what => `${path}: ${what} outside lib/`)),
    ]
  })
}

const wholeParts = ['http', 'cli', 'settings', 'testing', 'embedded-postgres']
/** Folders of a capability that form a separate part. */
const ownParts = ['model', 'sql', 'child', 'values']

/**
 * `src/jobs/sql/claim.ts` and `src/jobs/claim.sql.ts` are of jobs/sql, `src/jobs/erase.ts` of jobs, `src/index.ts` is index, and
 * `apps/quotes/jobs.ts` is of apps.
 */
export function partOf(path: string): string {
  const [top, first = '', ...rest] = path.split('/')
  if (top !== 'src') return top ?? ''
  if (rest.length === 0) return first.replace(/\.[cm]?[jt]s$/, '')
  if (wholeParts.includes(first)) return first
  if (/\.sql\.ts$/.test(path)) return `${first}/sql`
  return rest.length > 1 && ownParts.includes(rest[0]!) ? `${first}/${rest[0]}` : first
}

const layerOf = (part: string) => part.split('/')[1]
const isPure = (part: string) => layerOf(part) === 'model' || part === 'lib/values'

/** A database connection, a server of ours and tests speak SQL too; an application has its tables and their statements in a store of its own. */
const mayHoldSql = (path: string) =>
  layerOf(partOf(path)) === 'sql' ||
  ['database', 'embedded-postgres', 'testing'].includes(partOf(path)) ||
  /^apps\/[^/]+\/(?:[\w-]+\/)?store\//.test(path)

/** The row of a part: those of models and of SQL are the same for every capability. */
function mayImport(part: string): string[] | undefined {
  const [capability] = part.split('/')
  if (part !== 'lib/values' && arrows[capability!] === undefined) return undefined
  if (layerOf(part) === 'model') return ['*/model', 'lib/values', 'errors']
  if (layerOf(part) === 'sql') return ['*/model', '*/sql', ...ground]
  const row = arrows[part]
  return row && row !== anything && !['errors', 'lib', 'lib/values', 'version', 'apps', 'database'].includes(part)
    ? [...row, '*/model', `${part}/sql`]
    : row
}

const allows = (row: readonly string[], target: string) => row.includes(target) || row.includes(`*/${layerOf(target)}`)

function brokenArrows(path: string, { imports }: Source): string[] {
  const part = partOf(path)
  const may = mayImport(part)!
  return imports.flatMap(({ from, typeOnly }) => {
    const target = ownPart(path, from)
    if (target === undefined || target === part || allows(may, target)) return []
    if (may === anything && (part === 'testing' || !doors.includes(target))) return []
    const types = [...(typeArrows[part] ?? []), ...(layerOf(part) === 'model' ? ['lib'] : [])]
    if (typeOnly && (types.includes(target) || (types.includes('*') && !doors.includes(target)))) return []
    return [`${path}: ${part} may not import ${target} (${from})`]
  })
}

/** The part of ours that a specifier leads to; undefined for a package. */
function ownPart(path: string, from: string): string | undefined {
  if (from.startsWith('.')) return partOf(posix.join(posix.dirname(path), from))
  if (from === 'retoma') return 'index'
  return from.startsWith('retoma/') ? from.slice('retoma/'.length) : undefined
}

function brokenPackages(path: string, { imports }: Source, packages: Packages): string[] {
  const part = partOf(path)
  const dependencies = (part === 'apps' && packages.apps?.[path.split('/')[1] ?? '']) || packages.dependencies
  return imports.flatMap(({ from, typeOnly }) => {
    if (ownPart(path, from) !== undefined) return []
    const name = packageOf(from)
    const isNode = from.startsWith('node:') || builtinModules.includes(name)
    if (isPure(part) && !typeOnly && !purePackages.includes(name))
      return [`${path}: ${part} is pure and may not import ${from}`]
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

function moduleStateIn(path: string, { code }: Source): string[] {
  if (!withoutModuleState.test(path)) return []
  const names = [...code.matchAll(moduleState)].map(([, changed, collection, empty]) => changed ?? collection ?? empty!)
  return names.filter(name => !mayChange.has(`${path}: ${name}`))
}
