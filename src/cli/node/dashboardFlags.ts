import { redact } from '../../jsonRpc/credentials.ts'
import { UsageError } from '../../lib/errors.ts'
import type { ShownNode } from '../../rpc/index.ts'
import { checkHttpUrl, isHttpUrl } from '../shared/httpUrl.ts'

interface DashboardValues {
  dashboard: boolean
  dashboardNodes: readonly string[]
  dashboardBatcher: string | undefined
  dashboardBatcherTokenFile: string | undefined
  dashboardTestnet: string | undefined
}

/** Throws UsageError. */
export function checkDashboardFlags(values: DashboardValues): void {
  const { dashboard, dashboardNodes, dashboardBatcher } = values
  if (!dashboard && dashboardNodes.length > 0) throw new UsageError('--dashboard.nodes requires --dashboard')
  if (!dashboard && values.dashboardTestnet !== undefined)
    throw new UsageError('--dashboard.testnet requires --dashboard')
  shownNodes(dashboardNodes)
  if (dashboardBatcher !== undefined) checkHttpUrl('--dashboard.batcher', dashboardBatcher)
  if (dashboardBatcher === undefined && values.dashboardBatcherTokenFile !== undefined) {
    throw new UsageError('--dashboard.batcher-token-file requires --dashboard.batcher')
  }
}

/** Entries such as `verifier=http://10.0.0.2:9545`. The default name is the host. Throws UsageError. */
export function shownNodes(entries: readonly string[]): ShownNode[] {
  return entries.map((entry, index) => {
    const [, name = '', url = ''] = /^(?:([^=/:]+)=)?(.*)$/.exec(entry) ?? []
    // The error does not repeat the value, which may hold a password.
    if (!isHttpUrl(url)) throw new UsageError(`--dashboard.nodes: expected name=http://… as entry ${index + 1}`)
    const { host, username, password } = new URL(url)
    if (username !== '' || password !== '') {
      throw new UsageError(
        `--dashboard.nodes: remove user and password from ${redact(url)}. Every visitor of the page receives these addresses`,
      )
    }
    return { name: name === '' ? host : name, url: url.replace(/\/$/, '') }
  })
}
