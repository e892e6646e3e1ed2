/** Costs by currency, rounded for reading; the title has the exact amounts. */
import { useFormat } from '../i18n/format.ts'

interface CostProps {
  cost: readonly { currency: string; amount: string }[]
}

export function Cost({ cost }: CostProps) {
  const format = useFormat()
  const shown = cost.map(({ currency, amount }) =>
    format.number(Number(amount), { style: 'currency', currency, maximumFractionDigits: 6 }),
  )
  return <span title={cost.map(({ currency, amount }) => `${currency} ${amount}`).join(', ')}>{shown.join(' + ')}</span>
}
