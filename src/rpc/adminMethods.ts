import { UsageError } from '../lib/errors.ts'
import { LOG_LEVELS, parseLogLevel, type RootLogger } from '../lib/logger.ts'
import { untilAborted } from '../lib/untilAborted.ts'
import type { RollupNodeApi } from '../rollup/node/api.ts'
import { payloadEnvelopeFromJson } from '../rollup/protocol/index.ts'
import { defineMethod } from './method.ts'
import { booleanParam, hashParam, jsonParam, optionalParam, textParam, timestampParam } from './params.ts'
import { booleanResult, NOTHING, result } from './results.ts'
import { hash } from './schemas/blocks.ts'
import { sdmStatus } from './schemas/rollup.ts'

/** `admin_*` of the rollup node. Served only with `--rpc.enable-admin`. */
export function adminMethods(node: RollupNodeApi, logger: Pick<RootLogger, 'setLevel'>) {
  return [
    defineMethod({
      name: 'admin_resetDerivationPipeline',
      params: [],
      result: NOTHING,
      description: 'Rebuild the derivation pipeline from the L2 heads. Returns when it is done',
      admin: true,
      handle: () => node.resetDerivationPipeline(),
    }),
    defineMethod({
      name: 'admin_startSequencer',
      params: [optionalParam(hashParam('unsafe head'))],
      result: NOTHING,
      description: 'Start building blocks on the unsafe head. The optional hash must match that head',
      admin: true,
      handle: ([unsafeHead]) => node.startSequencer(unsafeHead),
    }),
    defineMethod({
      name: 'admin_stopSequencer',
      params: [],
      result: result('string: hash of the last unsafe block', hash),
      description: 'Stop building blocks once the last sealed block is the unsafe head, even if the caller disconnects',
      admin: true,
      // A caller that disconnects ends its own waiting, not the stop.
      handle: (_, { signal }) => untilAborted(node.stopSequencer(), signal),
    }),
    defineMethod({
      name: 'admin_sequencerActive',
      params: [],
      result: booleanResult(),
      description: 'Whether this node builds blocks now',
      admin: true,
      changes: false,
      handle: () => node.sequencerActive(),
    }),
    defineMethod({
      name: 'admin_overrideLeader',
      params: [],
      result: NOTHING,
      description: 'Build blocks as leader without the conductor, until the process ends',
      admin: true,
      handle: () => node.overrideLeader(),
    }),
    defineMethod({
      name: 'admin_conductorEnabled',
      params: [],
      result: booleanResult(),
      description: 'Whether a conductor decides when this node builds blocks',
      admin: true,
      changes: false,
      handle: () => node.conductorEnabled(),
    }),
    defineMethod({
      name: 'admin_setRecoverMode',
      params: [booleanParam('recover mode')],
      result: NOTHING,
      description: 'Build blocks with forced transactions only, like blocks that verifiers derive without batches',
      admin: true,
      handle: ([isOn]) => node.setRecoverMode(isOn),
    }),
    defineMethod({
      name: 'admin_setSdmPostExecOptIn',
      params: [booleanParam('opt-in')],
      result: NOTHING,
      description:
        'From Lagoon on, let the engine refund gas for what a block has warmed. --rpc.admin-state keeps the setting',
      admin: true,
      handle: ([optIn]) => node.setSdmPostExecOptIn(optIn),
    }),
    defineMethod({
      name: 'admin_sdmStatus',
      params: [optionalParam(timestampParam('timestamp'))],
      result: result(
        'postExecOptIn, protocolActive, effective (both), activationTime when Lagoon is scheduled',
        sdmStatus,
      ),
      description: 'Whether blocks of this sequencer may refund gas at a timestamp (default: now)',
      admin: true,
      changes: false,
      handle: ([timestamp]) => node.sdmStatus(timestamp),
    }),
    defineMethod({
      name: 'admin_postUnsafePayload',
      params: [jsonParam('payload', 'an object with executionPayload', { type: 'object' }, payloadEnvelopeFromJson)],
      result: NOTHING,
      description: 'Queue a block as if it had arrived by gossip',
      admin: true,
      handle: ([envelope]) => node.postUnsafePayload(envelope),
    }),
    defineMethod({
      name: 'admin_setLogLevel',
      params: [textParam('level', `one of ${LOG_LEVELS.join(', ')}`)],
      result: NOTHING,
      description: 'Set the lowest level of log lines that are written',
      admin: true,
      handle: ([text]) => {
        const level = parseLogLevel(text)
        if (level === undefined)
          throw new UsageError(`invalid argument 0: level should be one of ${LOG_LEVELS.join(', ')}`)
        logger.setLevel(level)
      },
    }),
  ]
}
