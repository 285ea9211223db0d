import { SessionService } from '@chainsafe/discv5'
import { expect, it, onTestFinished, vi } from 'vitest'
import { until } from '../../lib/testUtils/until.ts'
import { startDiscovery } from '../testUtils/discovery.ts'

const NODES = 4

it('a node with endless answers to one request does not delay lookups', async () => {
  const hostile = await startDiscovery([])
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
  const victim = await startDiscovery([hostile.record.text])
  await until('the first answers', () => timers.length > 0)
  const before = victim.lookups()
  await until('the lookup after the next', () => victim.lookups() >= before + 2)
  expect(victim.discovery.table().map(({ nodeId }) => nodeId)).toEqual([hostile.record.nodeId])
})
