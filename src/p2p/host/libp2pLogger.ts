import type { ComponentLogger, Logger } from '@libp2p/interface'

const silent: Logger = Object.assign(() => {}, {
  error: () => {},
  trace: () => {},
  enabled: false,
  newScope: () => silent,
})

/**
 * Drops libp2p's own log lines: formatting them costs time on the hot path, and this room logs the relevant events
 * itself.
 */
export const silentComponentLogger: ComponentLogger = { forComponent: () => silent }
