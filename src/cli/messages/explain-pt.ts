/** Messages of the command line around an explanation, in Portuguese; explain-en.ts has the same messages. */
import type { CliMessages } from './index.ts'

export const explain: CliMessages['explain'] = {
  worker: 'worker',
  workerIs: (id, host, pid, heartbeatAgo) => `${id} em ${host}, pid ${pid}, visto pela última vez ${heartbeatAgo}`,
  workerGone: id => `${id}, do qual nada restou`,
  items: count => (count === 1 ? '1 item dele' : `${count} itens dele`),
  blocked: 'bloqueado',
  blockedFor: span => `há ${span}, em`,
  noStack: 'não foi possível ler a pilha',
  crashReport: 'morreu de',
  failure: 'última falha',
  failed: (attempt, type, ago, message) => `tentativa ${attempt}, ${type}, ${ago}: ${message}`,
  evidence: 'evidência',
  more: lines => `… mais ${lines} linhas: --json as tem`,
  todo: 'o que fazer',
  what: 'job, lote ou fila',
}
