/**
 * Proposes guards for unknown tables, by the usual names of columns: a status with a value for "at work", an instant that changes
 * meanwhile, and a value for a failure. `retoma init` writes the proposals to a file, and a person decides.
 *
 * Invariant: a proposal names only existing columns and, if the database declares the values of a status, only declared values.
 */

export interface SeenColumn {
  name: string
  sort: 'text' | 'instant'
  /** Enum only: all values. */
  labels: readonly string[] | null
}

export interface SeenTable {
  /** In the form of the `table` option of a guard. */
  table: string
  columns: readonly SeenColumn[]
}

export interface GuardProposal {
  name: string
  table: string
  status: { column: string; running: readonly string[] }
  signal: readonly string[]
  set: Readonly<Record<string, string>>
}

const statusNames = /^(?:(?:job|processing|sync|import|export)_?)?(?:status|state|estado|situacao)$/i
const heartbeats = /^(?:last_?)?heartbeat(?:_?at)?$|^ultimo_heartbeat$/i
const touches = /^(?:updated|modified|changed)_?(?:at|on)$|^last_?(?:updated|modified)(?:_?at)?$|^atualizad[oa]_?em$/i
const errors =
  /^(?:last_?)?(?:error|failure)(?:_?(?:message|reason|text))?$|^(?:erro_?mensagem|mensagem_?(?:de_?)?erro)$/i

const atWork =
  /^(?:processing|running|in[ _-]?progress|working|syncing|importing|exporting|processando|em[ _-]?(?:andamento|processamento)|executando|rodando)$/i
const wentWrong = /^(?:failed|failure|error|errored|erro|falhou|falha)$/i
const portuguese = /^(?:processando|em[ _-]|executando|rodando)/i

/** Returns the column with the status values; undefined: not a table for a guard. */
export function statusOf({ columns }: SeenTable): SeenColumn | undefined {
  return signalOf(columns).length === 0 ? undefined : named(columns, 'text', statusNames)
}

/** `values`: status values of some rows. */
export function proposeGuard(seen: SeenTable, values: readonly string[]): GuardProposal | undefined {
  const { table, columns } = seen
  const status = statusOf(seen)
  const running = (status?.labels ?? values).filter(value => atWork.test(value))
  if (status === undefined || running.length === 0) return undefined
  const known = (status.labels ?? values).find(value => wentWrong.test(value))
  // An enum accepts only its own values.
  if (known === undefined && status.labels !== null) return undefined
  const message = columns.find(({ sort, labels, name }) => sort === 'text' && labels === null && errors.test(name))
  return {
    name: nameFor(table),
    table,
    status: { column: status.name, running },
    signal: signalOf(columns),
    set: {
      [status.name]: known ?? failedLike(running[0]!),
      ...(message === undefined ? {} : { [message.name]: 'Processing timeout (watchdog)' }),
    },
  }
}

/** Turns any table name into a valid name of a guard. */
const nameFor = (table: string): string =>
  table
    .replaceAll('"', '')
    .replace(/[^A-Za-z0-9._:-]/g, '_')
    .replace(/^(?=[^A-Za-z0-9])/, 'table')
    .slice(0, 100)

/** Prefers a heartbeat column; for a row without a heartbeat the last change counts. */
function signalOf(columns: readonly SeenColumn[]): string[] {
  const found = [named(columns, 'instant', heartbeats), named(columns, 'instant', touches)]
  return found.flatMap(column => (column === undefined ? [] : [column.name]))
}

const named = (columns: readonly SeenColumn[], sort: SeenColumn['sort'], name: RegExp): SeenColumn | undefined =>
  columns.find(column => column.sort === sort && name.test(column.name))

/** Writes the value in the language and the letter case of the running value. */
function failedLike(running: string): string {
  const word = portuguese.test(running) ? 'erro' : 'failed'
  if (running === running.toUpperCase()) return word.toUpperCase()
  return running === running.toLowerCase() ? word : word[0]!.toUpperCase() + word.slice(1)
}
