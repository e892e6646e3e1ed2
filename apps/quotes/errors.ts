/**
 * Defines the errors of the quotes. docs/errors.md lists the errors (`npm run docs`). The errors of providers are errors of the engine.
 *
 * Invariant: a code never changes its meaning once released; sentences may get better.
 */
import { defineErrors } from 'retoma'

export const errors = defineErrors({
  // Routes
  too_many_quotes: {
    status: 413,
    en: 'a batch has at most {most} quotes; send the rest in another one',
    pt: 'um lote tem no máximo {most} cotações; envie as demais em outro',
  },
  quote_too_old: {
    status: 504,
    en: 'the quote has been processed for more than {hours} h',
    pt: 'a cotação está em processamento há mais de {hours} h',
  },
  quote_state: {
    status: 409,
    en: 'quote {id} is {status}; {action} is not possible then',
    pt: 'a cotação {id} está em {status}; {action} não é possível nesse estado',
  },
})
