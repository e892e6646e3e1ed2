/**
 * Guards for tables that nobody has told us of, by the names people give to such columns: a status that says "at work", an
 * instant that moves while it is, and a value for what went wrong. `retoma init` writes them down; who reads them decides.
 *
 * Invariant: a proposal names only columns that are there and, where the database says which values a status has, only those.
 */

export interface SeenColumn {
  name: string
  sort: 'text' | 'instant'
  /** Of an enum: all it can be. */
  labels: readonly string[] | null
}

export interface SeenTable {
  /** As a guard names it. */
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
const beats = /^(?:last_?)?heartbeat(?:_?at)?$|^ultimo_heartbeat$/i
const touches = /^(?:updated|modified|changed)_?(?:at|on)$|^last_?(?:updated|modified)(?:_?at)?$|^atualizad[oa]_?em$/i
const errors =
  /^(?:last_?)?(?:error|failure)(?:_?(?:message|reason|text))?$|^(?:erro_?mensagem|mensagem_?(?:de_?)?erro)$/i

const atWork =
  /^(?:processing|running|in[ _-]?progress|working|syncing|importing|exporting|processando|em[ _-]?(?:andamento|processamento)|executando|rodando)$/i
const wentWrong = /^(?:failed|failure|error|errored|erro|falhou|falha)$/i
const portuguese = /^(?:processando|em[ _-]|executando|rodando)/i

/** Whose values are to be looked at; undefined: it is no table to guard. */
export function statusOf({ columns }: SeenTable): SeenColumn | undefined {
  return signalOf(columns).length === 0 ? undefined : named(columns, 'text', statusNames)
}

/** `values`: what its status is in some of its rows. */
export function proposeGuard(seen: SeenTable, values: readonly string[]): GuardProposal | undefined {
  const { table, columns } = seen
  const status = statusOf(seen)
  const running = (status?.labels ?? values).filter(value => atWork.test(value))
  if (status === undefined || running.length === 0) return undefined
  const known = (status.labels ?? values).find(value => wentWrong.test(value))
  // The type of an enum knows no other value than its own.
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

/** Whatever a table may be called, as a guard can be. */
const nameFor = (table: string): string =>
  table
    .replaceAll('"', '')
    .replace(/[^A-Za-z0-9._:-]/g, '_')
    .replace(/^(?=[^A-Za-z0-9])/, 'table')
    .slice(0, 100)

/** A heartbeat before anything else; a row that has none yet is measured by its last change. */
function signalOf(columns: readonly SeenColumn[]): string[] {
  const found = [named(columns, 'instant', beats), named(columns, 'instant', touches)]
  return found.flatMap(column => (column === undefined ? [] : [column.name]))
}

const named = (columns: readonly SeenColumn[], sort: SeenColumn['sort'], name: RegExp): SeenColumn | undefined =>
  columns.find(column => column.sort === sort && name.test(column.name))

/** In the language and the letters of the value beside it. */
function failedLike(running: string): string {
  const word = portuguese.test(running) ? 'erro' : 'failed'
  if (running === running.toUpperCase()) return word.toUpperCase()
  return running === running.toLowerCase() ? word : word[0]!.toUpperCase() + word.slice(1)
}
