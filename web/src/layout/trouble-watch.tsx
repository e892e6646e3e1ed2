/** Watches the health of the whole system on every page: the title and the icon of the window show trouble. */
import { useEffect } from 'react'
import { useOverview } from '../pages/overview/use-overview.ts'
import { setTrouble } from './window-title.ts'

const everyMs = 30_000

export function TroubleWatch() {
  const { data } = useOverview(everyMs)
  const count = data?.problems.length ?? 0
  useEffect(() => setTrouble(count), [count])
  return null
}
