/** Runs in one process for all tabs, so that all tabs share the event streams. */
import { TabHub } from './tab-hub.ts'

const hub = new TabHub()

addEventListener('connect', event => {
  const [port] = (event as MessageEvent).ports
  if (port !== undefined) hub.connect(port as never)
})
