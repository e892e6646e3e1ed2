/** Checks the costs that handlers report, and defines the costs of jobs and batches. An amount is a text, because a float is not exact. */
import { refuseOption, refuseUnknownOptions } from '../../errors/invalid-option.ts'
import { shownValue } from '../../lib/values/json.ts'

/** A cost in one currency. */
export interface CostAmount {
  /** The currency by ISO 4217: `USD`, `BRL`. */
  currency: string
  /** The amount in units of the currency, as an exact decimal number: `'0.0123'`. */
  amount: string
}

const decimal = /^\d{1,12}(\.\d{1,12})?$/
const code = /^[A-Z]{3}$/

/** Throws `bad_option`. */
export function checkCost(cost: CostAmount): CostAmount {
  if (typeof cost !== 'object' || cost === null)
    refuseOption('cost', 'it is an object { amount, currency }', 'é um objeto { amount, currency }')
  refuseUnknownOptions(cost, ['amount', 'currency'], 'cost.')
  const { amount, currency } = cost
  if (typeof amount !== 'string' || !decimal.test(amount))
    refuseOption(
      'cost.amount',
      `it is a text such as '0.0123', from zero, with at most 12 digits before and 12 after the point, not ${shownValue(amount)}`,
      `é um texto como '0.0123', a partir de zero, com até 12 dígitos antes e 12 depois do ponto, não ${shownValue(amount)}`,
    )
  if (typeof currency !== 'string' || !code.test(currency))
    refuseOption(
      'cost.currency',
      `it is a currency of ISO 4217, such as 'USD', not ${shownValue(currency)}`,
      `é uma moeda da ISO 4217, como 'USD', não ${shownValue(currency)}`,
    )
  return { currency, amount }
}
