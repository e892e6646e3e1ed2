/** Messages of the command line about batches, in Portuguese; batch-en.ts defines the messages. */
import { whole } from '../../lib/values/format-number.ts'
import type { CliMessages } from './index.ts'

const n = (number: number) => whole(number, 'pt')
const items = (number: number) => (number === 1 ? '1 item' : `${n(number)} itens`)
const plural = (number: number, one: string, many: string) => `${n(number)} ${number === 1 ? one : many}`

const leftOut = (conflicts: number) => {
  if (conflicts === 0) return ''
  return conflicts === 1
    ? '; 1 fica como está: outro job tem a chave dele'
    : `; ${n(conflicts)} ficam como estão: outros jobs têm as chaves deles`
}

export const batch: CliMessages['batch'] = {
  columns: ['id', 'lote', 'estado', 'feito', 'itens', 'erros', 'ritmo', 'falta', 'criado'],
  none: 'nenhum lote',
  noneSuch: 'nenhum lote com esse filtro',
  noneAfter: 'não há mais lotes',
  moreOpen: command => `e mais: ${command}`,
  labels: {
    batch: 'lote',
    state: 'estado',
    progress: 'progresso',
    items: 'itens',
    pace: 'ritmo',
    left: 'falta',
    last: 'último item',
    cost: 'custo',
    resumes: 'retomadas',
    kind: 'tipo',
    priority: 'prioridade',
    key: 'chave',
    created: 'criado',
    finished: 'terminado',
    completeJob: 'ao terminar',
  },
  named: (id, name) => `${id} (${name})`,
  of: (ended, total) => `${ended} de ${total}`,
  soFar: (ended, total) => `${ended} de ${total} até aqui`,
  ofMost: (count, most) => `${count} de ${most}`,
  counts: {
    succeeded: number => plural(number, 'concluído', 'concluídos'),
    failed: number => `${n(number)} com erro`,
    skipped: number => plural(number, 'pulado', 'pulados'),
    cancelled: number => plural(number, 'cancelado', 'cancelados'),
    stalled: number => plural(number, 'travado', 'travados'),
    running: number => `${n(number)} em execução`,
    waiting: number => `${n(number)} em espera`,
  },
  noItems: 'nenhum',
  rate: (number, unit) => `${number} itens/${unit}`,
  left: span => `falta cerca de ${span}`,
  about: span => `cerca de ${span}`,
  last: (ref, ago) => `${ref}, ${ago}`,
  inQueue: (kind, queue) => `${kind}, na fila ${queue}`,
  completeJob: id => `job ${id}`,
  state: {
    submitting: total => `sendo enviado: ${items(total)} até aqui`,
    waiting: 'em espera: nada dele começou ainda',
    running: 'em andamento',
    pausedByPerson: 'pausado por uma pessoa: nada mais dele começa',
    pausedByPolicy: (failed, ended) =>
      `pausado pelo seu stopAfter: ${n(failed)} de ${items(ended)} que terminaram deram erro`,
    pausedByProvider: (provider, words) =>
      `pausado: o provedor ${provider} parou: ${words}; ele é consultado uma vez por minuto`,
    pausedBecause: words => `pausado: ${words}`,
    stalled: 'travado: nenhum item dele terminou há tempo demais; espera uma pessoa',
    stalledBecause: code => `travado (${code}): espera uma pessoa`,
    failed: resumes =>
      `falhou: travou de novo depois de ${plural(resumes, 'retomada', 'retomadas')}; o que não tinha terminado falhou junto`,
    failedBecause: code => `falhou (${code})`,
    empty: 'terminado: não tinha itens',
    succeeded: 'terminado: todos os itens chegaram ao fim',
    completedWithFailures: (failed, cancelled) =>
      `terminado: todos os itens chegaram ao fim, ${n(failed)} deles com erro${cancelled === 0 ? '' : `, ${plural(cancelled, 'cancelado', 'cancelados')}`}`,
    cancelled: 'cancelado',
    cancelling: 'cancelado: os últimos itens dele ainda seguem',
  },
  causes: 'itens com erro, por causa:',
  causeColumns: ['itens', 'causa', 'por exemplo'],
  moreCauses: (count, command) => `${count === 1 ? 'mais 1 causa' : `mais ${count} causas`}: ${command}`,
  next: 'agora:',
  hints: {
    resume: 'continua',
    failures: 'mostra o que deu errado',
    retryFailed: 'roda de novo os que deram erro',
    continueSubmit: 'se o envio parou no meio: envie a mesma lista com a mesma chave, ou desista:',
    giveUpSubmit: 'se o envio parou no meio, desista:',
  },
  ctrlC: 'Ctrl-C encerra a exibição, não o lote',
  away: problem => `${problem}; tentando de novo`,
  awayFor: (span, problem) => `tentando de novo há ${span}: ${problem}`,
  back: 'o banco de dados voltou a responder',
  noFailures: id => `o lote ${id} não tem itens com erro`,
  group: (count, one, ago) => `${count} ${one ? 'item' : 'itens'}, o último ${ago}`,
  refs: refs => `por exemplo ${refs}`,
  runAgain: command => `para rodar de novo: ${command}`,
  itemColumns: ['id', 'ref', 'estado', 'tentativas', 'erro'],
  noneOfItems: 'nenhum item',
  noneOfSuchItems: 'nenhum item com esse filtro',
  noMoreItems: 'não há mais itens',
  paused: id => `o lote ${id} está pausado: nada mais dele começa, o que roda vai até o fim`,
  pausedAlready: id => `o lote ${id} já estava pausado`,
  resumedFromPause: (id, count) => `o lote ${id} continua com ${items(count)}`,
  resumed: (id, count, resumes, most) =>
    `o lote ${id} continua com ${items(count)}; foi a retomada ${resumes} de ${most}`,
  resumedAlready: (id, state) => `o lote ${id} está em ${state}, nem pausado nem travado; nada a retomar`,
  cancelled: id => `o lote ${id} foi cancelado: o que dele não terminou não roda mais`,
  cancelledAlready: id => `o lote ${id} já estava cancelado`,
  retried: (id, count, conflicts) =>
    `lote ${id}: ${items(count)} com erro ${count === 1 ? 'espera' : 'esperam'} para rodar de novo${leftOut(conflicts)}`,
  allConflict: (id, conflicts) =>
    `lote ${id}: nada roda de novo; ${conflicts === 1 ? 'outro job tem a chave do item com erro' : `outros jobs têm as chaves dos ${n(conflicts)} com erro`}`,
  retriedNone: id => `o lote ${id} não tem itens com erro; nada a fazer`,
  retriedNoneOfCause: (id, cause) => `o lote ${id} não tem itens com erro da causa "${cause}"; nada a fazer`,
  goesOnWithout: id => `o lote ${id} continua; nenhum item precisou rodar de novo`,
  stillPaused: id => `ele está pausado; para continuar: retoma batch resume ${id}`,
  priority: (id, priority, moved) =>
    `o lote ${id} tem prioridade ${priority}; ${items(moved)} em espera ${moved === 1 ? 'mudou' : 'mudaram'} de lugar`,
  priorityAlready: (id, priority) => `o lote ${id} já tinha prioridade ${priority}`,
  skippedByHand: 'pulado por uma pessoa',
  skipped: id => `o item ${id} foi pulado`,
  skippedAlready: id => `o item ${id} já estava pulado`,
  item: 'item de lote',
  batch: 'lote',
}
