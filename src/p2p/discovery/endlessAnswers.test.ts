import { randomBytes } from 'node:crypto'
import { SessionService } from '@chainsafe/discv5'
import { expect, it, onTestFinished, vi } from 'vitest'
import { systemClock } from '../../lib/clock.ts'
import { silentLogger } from '../../lib/logger.ts'
import { until } from '../testUtils/testNode.ts'
import { createDiscovery, type Discovery } from './discovery.ts'
import { parseRecord } from './discv5.ts'
import type { NodeRecord } from './nodeRecord.ts'

const NODES = 4

async function startNode(
  bootnodes: string[],
): Promise<{ discovery: Discovery; record: NodeRecord; lookups(): number }> {
  let lookups = 0
  const discovery = createDiscovery(
    {
      clock: systemClock,
      logger: silentLogger,
      privateKey: new Uint8Array(randomBytes(32)),
      onPeer: () => {},
      isSatisfied: () => false,
      metrics: { onLookup: () => (lookups += 1), onRecord: () => {} },
    },
    {
      chainId: 901n,
      listenIp: '127.0.0.1',
      listenUdpPort: 0,
      advertiseUdpPort: 0,
      bootnodes,
      storePath: 'memory',
      netrestrict: [],
    },
  )
  await discovery.start({ advertisedIp: undefined, tcpPort: 4000, tcp6Port: 4006 })
  onTestFinished(() => discovery.stop())
  return { discovery, record: parseRecord(discovery.localEnr()), lookups: () => lookups }
}

it('a node that goes on answering one request does not hold up the lookups', async () => {
  const hostile = await startNode([])
  const send = SessionService.prototype.sendResponse
  const timers: NodeJS.Timeout[] = []
  const spy = vi.spyOn(SessionService.prototype, 'sendResponse').mockImplementation(function (
    this: SessionService,
    to,
    response,
  ) {
    const isEndless = this.enr.nodeId === hostile.record.nodeId && response.type === NODES
    if (!isEndless) return send.call(this, to, response)
    const again = (): void => send.call(this, to, { ...response, total: 1_000_000 })
    again()
    timers.push(setInterval(again, 200))
  })
  onTestFinished(() => {
    spy.mockRestore()
    timers.forEach(clearInterval)
  })
  const victim = await startNode([hostile.record.text])
  await until('the first answers', () => timers.length > 0)
  const before = victim.lookups()
  await until('the lookup after the next', () => victim.lookups() >= before + 2)
  expect(victim.discovery.table().map(({ nodeId }) => nodeId)).toEqual([hostile.record.nodeId])
})
