/** The messages of the pages of batches. */
import { defineMessages, plural } from '../../i18n/messages.ts'

const pt = (count: number, one: string, other: string) => plural('pt-BR', count, one, other)
const en = (count: number, one: string, other: string) => plural('en', count, one, other)

export const batchMessages = defineMessages(
  {
    title: 'Lotes',
    subtitle: 'Listas de itens com um só progresso, da mais nova à mais antiga',
    batch: 'Lote',
    state: 'Estado',
    anyState: 'Qualquer estado',
    nameFilter: 'Nome do lote',
    progress: 'Progresso',
    failures: 'Falhas',
    rate: 'Ritmo',
    timeLeft: 'Tempo restante',
    left: 'Falta',
    created: 'Criado',
    finished: 'Terminou',
    more: 'Mostrar mais',
    clear: 'Limpar filtros',
    none: 'Nenhum lote ainda',
    noneHint:
      'Um lote é uma lista de entradas que viram jobs com um só progresso. Envie um pela API, pelo código ou pela linha de comando.',
    noneFound: 'Nenhum lote com este filtro',
    of: (done: string, total: string) => `${done} de ${total}`,
    perSecond: (rate: string) => `${rate}/s`,
    progressOf: (name: string, id: string) => `Progresso de ${name} ${id}`,
    kind: 'Tipo',
    queue: 'Fila',
    priority: 'Prioridade',
    key: 'Chave',
    lastItem: 'Último item',
    heartbeat: 'Última atividade',
    cost: 'Custo até agora',
    duration: 'Duração',
    resumes: 'Retomadas',
    resumesOf: (used: number, most: number) => `${used} de ${most}`,
    items: 'Itens',
    itemCount: (count: number) => pt(count, 'item', 'itens'),
    notFound: 'Este lote não existe',
    notFoundHint: 'O id pode ter sido digitado errado, ou o lote já foi apagado pela retenção.',
    backToList: 'Ver todos os lotes',
    receiving: (count: number) => `Recebendo a lista: ${pt(count, 'item', 'itens')} até agora`,
    following: 'Uma ação anterior ainda está sendo aplicada aos itens',

    pause: 'Pausar',
    pauseWhat: (running: number, waiting: number) =>
      `Nenhum item novo começa. ${pt(running, 'item em execução vai', 'itens em execução vão')} até o fim; ${pt(waiting, 'item espera', 'itens esperam')} até alguém continuar.`,
    paused: 'O lote foi pausado',
    resume: 'Continuar de onde parou',
    resumeWhat: (count: number) =>
      `${pt(count, 'item não terminado segue de onde parou', 'itens não terminados seguem de onde pararam')}. Os terminados não rodam de novo.`,
    resumed: (count: number) => `O lote continua: ${pt(count, 'item segue', 'itens seguem')}`,
    retryFailed: 'Reprocessar apenas erros',
    retryWhat: (count: number) =>
      `${pt(count, 'item volta', 'itens voltam')} à fila, com novas tentativas. Passos já salvos não rodam de novo.`,
    retryMoreThan: (count: number) =>
      `Mais de ${pt(count, 'item volta', 'itens voltam')} à fila, com novas tentativas. Passos já salvos não rodam de novo.`,
    retried: (count: number, conflicts: number) =>
      conflicts === 0
        ? pt(count, 'item voltou à fila', 'itens voltaram à fila')
        : `${pt(count, 'item voltou à fila', 'itens voltaram à fila')}; ${pt(conflicts, 'ficou como estava', 'ficaram como estavam')}, porque outro job tem a chave`,
    retryThese: 'Tentar estes de novo',
    cancel: 'Cancelar o lote',
    cancelWhat: (unfinished: number, running: number) =>
      `${pt(unfinished, 'item não terminado é cancelado', 'itens não terminados são cancelados')}; ${pt(running, 'em execução perde', 'em execução perdem')} a vez na hora. Um lote cancelado não volta.`,
    cancelled: 'O lote foi cancelado',
    setPriority: 'Mudar a prioridade',
    priorityWhat: (waiting: number) =>
      `Vale para ${pt(waiting, 'item que espera', 'itens que esperam')} e para os que ainda chegarem. 0 vem primeiro, 9 por último.`,
    priorityField: 'Prioridade (0 a 9)',
    prioritySet: (moved: number) => `Prioridade mudada: ${pt(moved, 'item mudou', 'itens mudaram')} de lugar`,
    copyCurl: 'Copiar como curl',
    copyCli: 'Copiar como comando',
    copied: 'Copiado',
    exportCsv: 'Exportar itens (CSV)',
    exportJson: 'Exportar itens (JSON)',
    exporting: (count: string) => `Exportando… ${count} itens`,
    exported: (count: number, cut: number) =>
      cut === 0
        ? pt(count, 'item exportado', 'itens exportados')
        : `${pt(count, 'item exportado', 'itens exportados')}; ${pt(cut, 'tem um valor grande', 'têm valores grandes')}, que o arquivo cita pelo endereço`,
    lookAtFailures: 'Ver as falhas',

    causes: 'Falhas por causa',
    causesHint: (count: number) => pt(count, 'causa', 'causas'),
    lastAt: 'Última',
    noMessage: 'Sem mensagem',
    showItems: 'Ver os itens',
    refs: (refs: string) => `por exemplo ${refs}`,

    ref: 'Ref',
    attempts: 'Tentativas',
    took: 'Durou',
    result: 'Resultado ou erro',
    searchRef: 'Buscar por ref',
    allItems: 'Todos',
    stateFilter: 'Filtrar por estado',
    causeFilter: (cause: string) => `Causa ${cause}`,
    noItems: 'Nenhum item neste filtro',
    noItemsYet: 'O lote ainda não tem itens',
    selection: 'Seleção',
    select: (name: string) => `Selecionar ${name}`,
    selected: (count: number) => pt(count, 'item selecionado', 'itens selecionados'),
    retrySelected: 'Tentar de novo',
    skipSelected: 'Pular',
    skipSelectedWhat: (count: number) =>
      `${pt(count, 'item termina como pulado e não roda', 'itens terminam como pulados e não rodam')} mais.`,
    retrySelectedWhat: (count: number) =>
      `${pt(count, 'item selecionado', 'itens selecionados')}. Volta à fila o que falhou, foi pulado ou foi cancelado; o resto fica como está.`,
    didSome: (done: number, refused: number) =>
      refused === 0
        ? pt(done, 'item mudou', 'itens mudaram')
        : `${pt(done, 'item mudou', 'itens mudaram')}; ${pt(refused, 'ficou como estava', 'ficaram como estavam')}`,
    didNotAll: (done: number, left: number, reason: string) =>
      `${pt(done, 'item mudou', 'itens mudaram')}; ${pt(left, 'item ficou', 'itens ficaram')} sem resposta: ${reason}`,
    noAnswer: 'o servidor não respondeu',
    clearSelection: 'Limpar seleção',
    unknownAt: 'Lendo…',

    actions: 'Quem fez o quê',
    noActions: 'Ninguém mexeu neste lote',
    noActionsHint: 'Cada botão apertado aparece aqui, com quem e quando.',
    someone: 'alguém',

    map: 'Mapa dos itens',
    mapHint: 'Arraste para selecionar; setas e Enter pelo teclado',
    mapAggregated: (items: string) =>
      `Cada quadrado resume ${items} itens por amostra, na cor do estado que mais pede atenção`,
    mapLabel: (summary: string) => `Mapa dos itens do lote. ${summary}`,
    mapItem: (position: string, state: string) => `Item ${position}: ${state}`,
    mapRange: (from: string, to: string) => `Itens ${from} a ${to}`,
    mapSelection: (from: string, to: string) => `Itens ${from} a ${to} selecionados`,
    mapShow: 'Ver na tabela',
    mapSelect: 'Selecionar',
  },
  {
    title: 'Batches',
    subtitle: 'Lists of items with one progress, the newest first',
    batch: 'Batch',
    state: 'State',
    anyState: 'Any state',
    nameFilter: 'Name of the batch',
    progress: 'Progress',
    failures: 'Failures',
    rate: 'Rate',
    timeLeft: 'Time left',
    left: 'Left',
    created: 'Created',
    finished: 'Finished',
    more: 'Show more',
    clear: 'Clear filters',
    none: 'No batch yet',
    noneHint:
      'A batch is a list of inputs that become jobs with one progress. Submit one over the API, from code or from the command line.',
    noneFound: 'No batch with this filter',
    of: (done, total) => `${done} of ${total}`,
    perSecond: rate => `${rate}/s`,
    progressOf: (name, id) => `Progress of ${name} ${id}`,
    kind: 'Kind',
    queue: 'Queue',
    priority: 'Priority',
    key: 'Key',
    lastItem: 'Last item',
    heartbeat: 'Last activity',
    cost: 'Cost so far',
    duration: 'Duration',
    resumes: 'Resumes',
    resumesOf: (used, most) => `${used} of ${most}`,
    items: 'Items',
    itemCount: count => en(count, 'item', 'items'),
    notFound: 'This batch does not exist',
    notFoundHint: 'The id may be misspelled, or retention has removed the batch.',
    backToList: 'Show all batches',
    receiving: count => `Receiving the list: ${en(count, 'item', 'items')} so far`,
    following: 'An earlier action is still being applied to the items',

    pause: 'Pause',
    pauseWhat: (running, waiting) =>
      `No further item starts. ${en(running, 'running item goes', 'running items go')} on to the end; ${en(waiting, 'item waits', 'items wait')} until someone resumes.`,
    paused: 'The batch was paused',
    resume: 'Continue where it stopped',
    resumeWhat: count =>
      `${en(count, 'unfinished item goes', 'unfinished items go')} on. Finished items do not run again.`,
    resumed: count => `The batch goes on: ${en(count, 'item', 'items')}`,
    retryFailed: 'Retry only the failures',
    retryWhat: count =>
      `${en(count, 'item returns', 'items return')} to the queue with new attempts. Saved steps do not run again.`,
    retryMoreThan: count =>
      `More than ${en(count, 'item returns', 'items return')} to the queue with new attempts. Saved steps do not run again.`,
    retried: (count, conflicts) =>
      conflicts === 0
        ? en(count, 'item returned to the queue', 'items returned to the queue')
        : `${en(count, 'item returned to the queue', 'items returned to the queue')}; ${en(conflicts, 'stayed as it was', 'stayed as they were')}, because another job has the key`,
    retryThese: 'Retry these',
    cancel: 'Cancel the batch',
    cancelWhat: (unfinished, running) =>
      `${en(unfinished, 'unfinished item is cancelled', 'unfinished items are cancelled')}; ${en(running, 'running item stops', 'running items stop')} at once. A cancelled batch does not come back.`,
    cancelled: 'The batch was cancelled',
    setPriority: 'Change the priority',
    priorityWhat: waiting =>
      `Applies to ${en(waiting, 'item that waits', 'items that wait')} and to items still to come. 0 is first, 9 is last.`,
    priorityField: 'Priority (0 to 9)',
    prioritySet: moved => `Priority changed: ${en(moved, 'item moved', 'items moved')}`,
    copyCurl: 'Copy as curl',
    copyCli: 'Copy as a command',
    copied: 'Copied',
    exportCsv: 'Export items (CSV)',
    exportJson: 'Export items (JSON)',
    exporting: count => `Exporting… ${count} items`,
    exported: (count, cut) =>
      cut === 0
        ? en(count, 'item exported', 'items exported')
        : `${en(count, 'item exported', 'items exported')}; ${en(cut, 'has a large value', 'have large values')}, which the file names by address`,
    lookAtFailures: 'Show the failures',

    causes: 'Failures by cause',
    causesHint: count => en(count, 'cause', 'causes'),
    lastAt: 'Last',
    noMessage: 'No message',
    showItems: 'Show the items',
    refs: refs => `such as ${refs}`,

    ref: 'Ref',
    attempts: 'Attempts',
    took: 'Took',
    result: 'Result or error',
    searchRef: 'Search by ref',
    allItems: 'All',
    stateFilter: 'Filter by state',
    causeFilter: cause => `Cause ${cause}`,
    noItems: 'No item with this filter',
    noItemsYet: 'The batch has no items yet',
    selection: 'Selection',
    select: name => `Select ${name}`,
    selected: count => en(count, 'item selected', 'items selected'),
    retrySelected: 'Retry',
    skipSelected: 'Skip',
    skipSelectedWhat: count =>
      `${en(count, 'item ends as skipped and does', 'items end as skipped and do')} not run again.`,
    retrySelectedWhat: count =>
      `${en(count, 'item selected', 'items selected')}. Failed, skipped and cancelled items return to the queue; the rest stays as it is.`,
    didSome: (done, refused) =>
      refused === 0
        ? en(done, 'item changed', 'items changed')
        : `${en(done, 'item changed', 'items changed')}; ${en(refused, 'stayed as it was', 'stayed as they were')}`,
    didNotAll: (done, left, reason) =>
      `${en(done, 'item changed', 'items changed')}; ${en(left, 'item has', 'items have')} no answer: ${reason}`,
    noAnswer: 'the server did not answer',
    clearSelection: 'Clear the selection',
    unknownAt: 'Reading…',

    actions: 'Who did what',
    noActions: 'Nobody has touched this batch',
    noActionsHint: 'Every button pressed appears here, with who and when.',
    someone: 'someone',

    map: 'Map of the items',
    mapHint: 'Drag to select; arrow keys and Enter with the keyboard',
    mapAggregated: items =>
      `Each square sums up ${items} items by samples, in the colour of the state that most needs attention`,
    mapLabel: summary => `Map of the items of the batch. ${summary}`,
    mapItem: (position, state) => `Item ${position}: ${state}`,
    mapRange: (from, to) => `Items ${from} to ${to}`,
    mapSelection: (from, to) => `Items ${from} to ${to} selected`,
    mapShow: 'Show in the table',
    mapSelect: 'Select',
  },
)

export type BatchWords = (typeof batchMessages)['en']
