/** The messages of the page of the providers. */
import { defineMessages, plural } from '../../i18n/messages.ts'

export const providersMessages = defineMessages(
  {
    title: 'Provedores',
    subtitle: 'Serviços externos que já pediram para esperar, ou recusaram a chave.',
    none: 'Nenhum provedor pediu para esperar',
    noneHint:
      'Quando um serviço externo responde 429, 503 ou recusa a chave, todos os workers esperam juntos, nenhuma tentativa é gasta, e o provedor aparece aqui com as suas palavras.',
    open: 'Respondendo',
    waiting: 'Pediu para esperar',
    stopped: 'Parado',
    until: 'até',
    since: 'desde',
    waits: (count: number) => plural('pt-BR', count, 'espera seguida', 'esperas seguidas'),
    probe: 'Um job pergunta de novo',
    probeError: 'O último que perguntou ouviu',
    kinds: 'Jobs que esperam por ele',
    words: 'O que o provedor disse',
    clear: 'Perguntar agora',
    clearHint: 'Encerra a espera: os jobs e lotes que esperam por este provedor continuam.',
    cleared: (name: string) => `${name}: a espera acabou, os jobs continuam.`,
    already: (name: string) => `${name} já estava respondendo.`,
    lastAnswer: 'Último aviso',
  },
  {
    title: 'Providers',
    subtitle: 'Outside services that have asked jobs to wait, or refused the key.',
    none: 'No provider has asked to wait',
    noneHint:
      'When an outside service answers 429 or 503, or refuses the key, all workers wait together, no attempt is used, and the provider is listed here with its own words.',
    open: 'Answering',
    waiting: 'Asked to wait',
    stopped: 'Stopped',
    until: 'until',
    since: 'since',
    waits: count => plural('en', count, 'wait in a row', 'waits in a row'),
    probe: 'One job asks again',
    probeError: 'The last job that asked got',
    kinds: 'Jobs that wait for the provider',
    words: 'The words of the provider',
    clear: 'Ask now',
    clearHint: 'Ends the wait: jobs and batches that wait for this provider continue.',
    cleared: name => `${name}: the wait is over, the jobs continue.`,
    already: name => `${name} was answering already.`,
    lastAnswer: 'Last notice',
  },
)
