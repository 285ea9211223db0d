import { readFileSync } from 'node:fs'
import { Hono } from 'hono'
import { z } from 'zod'
import { type HttpServerHandle, serveApp } from '../../src/jsonRpc/httpServer.ts'
import { forkPlan } from '../runner/events.ts'
import { lagoonFiles } from '../runner/lagoonFiles.ts'
import type { TestnetSetup } from '../runner/setup.ts'

const port = z.int().min(1).max(65_535)

/** The files and addresses that a joining node needs, as the runner serves them. Ports are on the host of the request. */
export const invitationSchema = z.strictObject({
  version: z.literal(1),
  l2ChainId: z.int(),
  files: z.strictObject({
    genesis: z.string(),
    rollupConfig: z.string(),
    l1Config: z.string(),
    dependencySet: z.string().optional(),
    upgradeBundle: z.string().optional(),
  }),
  ports: z.strictObject({ l1: port, beacon: port, transactions: port, p2p: port }),
  /** Peer id of the first node. */
  peerId: z.string().regex(/^\w{1,100}$/),
})
export type Invitation = z.infer<typeof invitationSchema>

/** Throws before the chain's files are written. */
export function createInvitation(
  { layout, chain, ports }: Pick<TestnetSetup, 'layout' | 'chain' | 'ports'>,
  { peerId, transactions }: { peerId: string; transactions: number },
): Invitation {
  const { genesis, rollupConfig, l1Config } = layout
  const paths = { genesis, rollupConfig, l1Config, ...lagoonFiles(forkPlan(chain), layout) }
  const files = Object.entries(paths).map(([name, path]) => [name, readFileSync(path, 'utf8')])
  return invitationSchema.parse({
    version: 1,
    l2ChainId: chain.l2ChainId,
    files: Object.fromEntries(files),
    ports: { l1: ports.l1, beacon: ports.beacon, transactions, p2p: ports.nodes[0]?.p2p },
    peerId,
  })
}

/** Serves the invitation to anybody who reaches the address. It holds no secrets. */
export function serveInvitation(create: () => Invitation, host: string, port: number): Promise<HttpServerHandle> {
  const app = new Hono()
  let text: string | undefined
  app.get('/', (context) => {
    try {
      text ??= JSON.stringify(create())
    } catch {
      return context.text('the chain is not made yet', 503)
    }
    return context.body(text, 200, { 'content-type': 'application/json' })
  })
  return serveApp(app, host, port, 'join')
}
