/**
 * Turns errors of the system and of PostgreSQL into a RetomaError with an action for a person. find, home, init and start use this around
 * every step that touches the disk or runs a program.
 */
import { statfs } from 'node:fs/promises'
import { isRetomaError, type LocalizedText, localized, RetomaError } from '../errors/errors.ts'

const actions = {
  initialise: localized('initialise', 'inicializar'),
  start: localized('start', 'iniciar'),
  answer: localized('answer', 'responder'),
  stop: localized('stop', 'parar'),
}

/** The server's own words, unchanged, or Retoma's words about the server. */
export type Words = string | LocalizedText

// A write cut short has no error number: PostgreSQL only adds a hint.
const noSpace = /No space left on device|ENOSPC|Disk quota exceeded|EDQUOT|Check free disk space/i

const noRight = (output: string): boolean =>
  output
    .split('\n')
    .some(
      line =>
        line.includes('FATAL: ') &&
        /: (?:Permission denied|Read-only file system|Operation not permitted)$/.test(line.trimEnd()),
    )

const denials: Record<string, LocalizedText> = {
  EACCES: localized('permission denied', 'permissão negada'),
  EPERM: localized('not permitted', 'não permitido'),
  EROFS: localized('it is on a read-only disk', 'está em um disco somente leitura'),
  ENOENT: localized('it cannot be made there', 'não pode ser criada ali'),
  ENOTDIR: localized('part of its path is a file, not a folder', 'parte do caminho é um arquivo, não uma pasta'),
  EEXIST: localized('there is a file in its place', 'há um arquivo no lugar dela'),
  ELOOP: localized('its path runs in a circle of links', 'o caminho dá voltas em um círculo de links'),
  ENAMETOOLONG: localized('its path is too long', 'o caminho é longo demais'),
}

/** Turns a failed call to the file system into an error about the data folder. */
export function folderError(folder: string, error: unknown): unknown {
  if (isRetomaError(error) || !(error instanceof Error)) return error
  const { code = '', path } = error as NodeJS.ErrnoException
  if (code === 'ENOSPC' || code === 'EDQUOT') return new RetomaError('disk_full', { folder }, { cause: error })
  const denial = denials[code]
  if (!denial) return error
  const at = path && path !== folder ? ` (${path})` : ''
  const problem = localized(denial.en + at, denial.pt + at)
  return new RetomaError('data_unreadable', { folder, problem }, { cause: error })
}

/** Makes an error from the last output of initdb or the server. */
export async function serverError(
  home: { folder: string; log: string },
  action: keyof typeof actions,
  words: Words,
): Promise<RetomaError> {
  const output = typeof words === 'string' ? words : ''
  if (noSpace.test(output) || (await isFull(home.folder))) return new RetomaError('disk_full', { folder: home.folder })
  const { folder, log } = home
  const problem =
    typeof words === 'string' ? (tellingLine(words) ?? localized('it said nothing', 'ele não disse nada')) : words
  if (noRight(output)) return new RetomaError('data_unreadable', { folder, problem })
  return new RetomaError('postgres_failed', { folder, action: actions[action], problem, log })
}

async function isFull(folder: string): Promise<boolean> {
  try {
    const { bavail, bsize } = await statfs(folder)
    return bavail * bsize < 256 * 1024
  } catch {
    return false
  }
}

/** The line with the cause: the last fatal line with the detail, otherwise the last non-empty line; undefined without output. */
export function tellingLine(output: string): string | undefined {
  const lines = output
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '')
  const fatal = lines.findLastIndex(line => /\b(FATAL|PANIC|error|could not)\b/.test(line))
  if (fatal === -1) return lines.at(-1)
  const bare = (line: string) => line.replace(/^.*?\b(LOG|FATAL|PANIC|DETAIL|HINT|error): +/, '')
  const telling = /contains errors$/.test(lines[fatal]!) ? (lines[fatal - 1] ?? lines[fatal]!) : lines[fatal]!
  const more = lines.slice(fatal + 1).find(line => /\b(DETAIL|HINT):/.test(line))
  return more ? `${bare(telling)} (${bare(more)})` : bare(telling)
}
