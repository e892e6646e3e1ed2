/**
 * Defines the errors of the quotes: the errors of the routes and the errors of providers and price pages. docs/errors.md lists the errors
 * (`npm run docs`).
 *
 * Invariant: a code never changes its meaning once released; sentences may get better.
 */
import { defineErrors } from 'retoma'

export const errors = defineErrors({
  // Routes
  quote_state: {
    status: 409,
    en: 'quote {id} is {status}; {verb} is not possible then',
    pt: 'a cotação {id} está em {status}; {verb} não é possível nesse estado',
  },
})
