/**
 * Says why a job ended without its handler, in Portuguese. Sentences of the engine are for operators: they are in English and may name a
 * worker, so that no user gets them. Words of the kind, of an application rule or of a person are shown as they are.
 */
import { isErrorCode, RetomaError } from 'retoma'
import { errors } from './errors.ts'

/** The error of a job as the engine stores the error. */
export interface JobError {
  type: string | null
  code: string | null
  message: string | null
}

/** Types of errors whose message is the kind's own (`messages` of the policy). */
const policyWords: readonly string[] = ['stalled', 'overdue']

/** A code of an application: its own errors, a provider's answer, or the rule that called `engine.jobs.fail`. Codes of PostgreSQL and Node are in capitals. */
const isOwnCode = (code: string): boolean =>
  Object.hasOwn(errors, code) || /^provider_/.test(code) || (/^[a-z][a-z_]*$/.test(code) && !isErrorCode(code))

export function reasonOfJob({ type, code, message }: JobError): string {
  const isOwn = type === 'error' ? code !== null && isOwnCode(code) : policyWords.includes(type ?? '')
  if (isOwn && message !== null) return message
  return new RetomaError(errorOf(type), {}).in('pt')
}

function errorOf(type: string | null) {
  if (type === 'crash' || type === 'orphan') return errors.document_worker_lost
  return type === 'timeout' ? errors.document_overlong : errors.document_job_ended
}
