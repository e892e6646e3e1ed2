/** Defines the errors of the outside services of a quote. docs/errors.md lists the errors (`npm run docs`). */
import { defineErrors } from 'retoma'

export const providerErrors = defineErrors({
  service_timeout: {
    status: 504,
    retryable: true,
    en: '{provider} did not answer within {seconds} s',
    pt: '{provider} não respondeu em {seconds} s',
  },
  service_unreachable: {
    status: 502,
    retryable: true,
    en: '{provider} could not be reached, or broke off in the middle of its answer ({problem})',
    pt: '{provider} não pôde ser alcançado, ou interrompeu a resposta no meio ({problem})',
  },
  service_error: {
    status: 502,
    retryable: true,
    en: '{provider} answered with error {status}: {words}',
    pt: '{provider} respondeu com o erro {status}: {words}',
  },
  service_garbage: {
    status: 502,
    retryable: true,
    en: 'the answer of {provider} is of no use: {problem}',
    pt: 'a resposta de {provider} não serve: {problem}',
  },
  service_busy: {
    status: 503,
    retryable: true,
    en: '{provider} asks for a wait (status {status}): {words}',
    pt: '{provider} pede para esperar (status {status}): {words}',
  },
  service_refused: {
    status: 502,
    en: '{provider} refuses to go on (status {status}): {words}',
    pt: '{provider} se recusa a continuar (status {status}): {words}',
  },
  service_moved: {
    status: 502,
    en: '{provider} answers with a redirect (status {status}), which is not followed: correct the address in {setting}, then resume',
    pt: '{provider} responde com um redirecionamento (status {status}), que não é seguido: corrija o endereço em {setting} e continue',
  },
  service_request: {
    status: 422,
    en: '{provider} refuses this request (status {status}): {words}',
    pt: '{provider} recusa este pedido (status {status}): {words}',
  },
})
