/** Makes the errors of a sync that no further attempt mends. Every viewer of the engine may see the errors: no error names an item. */
import { doNotRetry, RetomaError } from 'retoma'
import { openFinanceErrors } from './errors.ts'

/** The code, and the sentence in the language of the users. */
export const bankProblem = (why: RetomaError): Error =>
  doNotRetry(Object.assign(new Error(why.in('pt')), { name: 'BankError', code: why.code }))

/** Nobody learns whether the item exists for somebody else. */
export const unknownItem = () => bankProblem(new RetomaError(openFinanceErrors.bank_item_unknown, {}))

/** Pluggy knows the item, and refuses its data. */
export const refusedItem = () => bankProblem(new RetomaError(openFinanceErrors.bank_access_refused, {}))
