import { requireSubscriber } from '../../jsonRpc/callContext.ts'
import type { JsonValue } from '../../jsonRpc/types.ts'
import type { Clock } from '../../lib/clock.ts'
import { type Hex, isHex } from '../../lib/hex.ts'
import type { Logger } from '../../lib/logger.ts'
import type { P2pApi } from '../../p2p/base/api.ts'
import type { RollupNodeApi } from '../../rollup/node/api.ts'
import { defineMethod } from '../method.ts'
import { jsonParam, wrongType } from '../params.ts'
import { booleanResult, textResult } from '../results.ts'
import type { Topic } from '../schemas/events.ts'
import { type Broadcast, createBroadcast } from './broadcast.ts'
import { bansSource, derivationSource, headsSource, healthSource, peersSource } from './sources.ts'

/** The method name of notifications. */
export const LIVE_NOTIFICATION = 'devium_subscription'

export interface LiveModules {
  node: RollupNodeApi
  /** Absent with `--p2p.disable`. Then there are no topics about peers. */
  p2p: P2pApi | undefined
  clock: Clock
  logger: Logger
}

/** `devium_subscribe` and `devium_unsubscribe`, for connections that stay open. */
export function liveMethods(modules: LiveModules) {
  const topics = createTopics(modules)
  const names = [...topics.keys()]
  const parseTopic = (value: JsonValue) => topics.get(String(value)) ?? wrongType()
  const topic = jsonParam<Broadcast, Topic>('topic', `one of ${names.join(', ')}`, { enum: names }, parseTopic)
  return [
    defineMethod({
      name: 'devium_subscribe',
      params: [topic],
      result: textResult('subscription id; events arrive as devium_subscription'),
      description: 'Send the events of a topic over this WebSocket. x-notifications of rpc_discover describes them',
      handle: ([broadcast], context) => requireSubscriber(context).subscribe((notify) => broadcast.listen(notify)),
    }),
    defineMethod({
      name: 'devium_unsubscribe',
      params: [SUBSCRIPTION],
      result: booleanResult('whether the subscription existed'),
      description: 'End a subscription of this WebSocket',
      handle: ([id], context) => requireSubscriber(context).unsubscribe(id),
    }),
  ]
}

const SUBSCRIPTION = jsonParam<Hex, string>(
  'subscription id',
  'the id that devium_subscribe returned',
  { type: 'string' },
  (value) => (isHex(value, 16) ? value : wrongType()),
)

function createTopics({ node, p2p, clock, logger }: LiveModules): Map<string, Broadcast> {
  const states = { repeatsLast: true }
  const events = { repeatsLast: false }
  const topics = new Map([
    ['heads', createBroadcast(headsSource({ node, clock }), states)],
    ['derivation', createBroadcast(derivationSource({ node }), events)],
    ['health', createBroadcast(healthSource({ node, clock, logger }), states)],
  ])
  if (p2p === undefined) return topics
  topics.set('peers', createBroadcast(peersSource({ p2p, clock, logger }), events))
  topics.set('bans', createBroadcast(bansSource({ p2p }), events))
  return topics
}
