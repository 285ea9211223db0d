import type { ComponentLogger, Logger } from '@libp2p/interface'

const silent: Logger = Object.assign(() => {}, {
  error: () => {},
  trace: () => {},
  enabled: false,
  newScope: () => silent,
})

/** libp2p's own log lines are dropped: formatting them costs time on the hot path, and what matters is logged by us. */
export const silentComponentLogger: ComponentLogger = { forComponent: () => silent }
