import { UsageError } from '../lib/errors.ts'
import { LOG_LEVELS, type RootLogger } from '../lib/logger.ts'
import { untilAborted } from '../lib/untilAborted.ts'
import type { RollupNodeApi } from '../rollup/node/api.ts'
import { payloadEnvelopeFromJson } from '../rollup/protocol/index.ts'
import { defineMethod } from './method.ts'
import { booleanParam, hashParam, jsonParam, optionalParam, textParam, timestampParam } from './params.ts'
import { booleanResult, NOTHING, result } from './results.ts'
import { hash } from './schemas/blocks.ts'
import { sdmStatus } from './schemas/rollup.ts'

/** Names that op-node takes too. */
const SHORT_LEVELS: Readonly<Record<string, string>> = { trce: 'trace', dbug: 'debug', eror: 'error' }

/** `admin_*` of the rollup node: served only with `--rpc.enable-admin`. */
export function adminMethods(node: RollupNodeApi, logger: Pick<RootLogger, 'setLevel'>) {
  return [
    defineMethod({
      name: 'admin_resetDerivationPipeline',
      params: [],
      result: NOTHING,
      description: 'Rebuild the derivation pipeline from the L2 heads; returns when done',
      admin: true,
      handle: () => node.resetDerivationPipeline(),
    }),
    defineMethod({
      name: 'admin_startSequencer',
      params: [optionalParam(hashParam('unsafe head'))],
      result: NOTHING,
      description: 'Start building blocks on the unsafe head, whose hash may be given as a safeguard',
      admin: true,
      handle: ([unsafeHead]) => node.startSequencer(unsafeHead),
    }),
    defineMethod({
      name: 'admin_stopSequencer',
      params: [],
      result: result('string: hash of the last unsafe block', hash),
      description: 'Stop building blocks once the last sealed one is the unsafe head; goes on when the caller leaves',
      admin: true,
      // A caller that leaves ends its waiting, not the stop.
      handle: (_, { signal }) => untilAborted(node.stopSequencer(), signal),
    }),
    defineMethod({
      name: 'admin_sequencerActive',
      params: [],
      result: booleanResult(),
      description: 'Whether this node builds blocks at present',
      admin: true,
      changes: false,
      handle: () => node.sequencerActive(),
    }),
    defineMethod({
      name: 'admin_overrideLeader',
      params: [],
      result: NOTHING,
      description: 'Lead without asking the conductor, until the process ends',
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
      description: 'Build blocks with forced transactions only, as verifiers derive them without batches',
      admin: true,
      handle: ([isOn]) => node.setRecoverMode(isOn),
    }),
    defineMethod({
      name: 'admin_setSdmPostExecOptIn',
      params: [booleanParam('opt-in')],
      result: NOTHING,
      description:
        'From Lagoon on, have the engine refund what a block has warmed; passed on to the engine, kept by --rpc.admin-state',
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
      description: 'Whether blocks of this sequencer may refund gas at a time, by default now',
      admin: true,
      changes: false,
      handle: ([timestamp]) => node.sdmStatus(timestamp),
    }),
    defineMethod({
      name: 'admin_postUnsafePayload',
      params: [jsonParam('payload', 'an object with executionPayload', { type: 'object' }, payloadEnvelopeFromJson)],
      result: NOTHING,
      description: 'Queue a block as if it had come by gossip',
      admin: true,
      handle: ([envelope]) => node.postUnsafePayload(envelope),
    }),
    defineMethod({
      name: 'admin_setLogLevel',
      params: [textParam('level', `one of ${LOG_LEVELS.join(', ')}`)],
      result: NOTHING,
      description: 'Least level of log lines written from now on',
      admin: true,
      handle: ([text]) => {
        const name = text.toLowerCase()
        const level = LOG_LEVELS.find((known) => known === (SHORT_LEVELS[name] ?? name))
        if (level === undefined)
          throw new UsageError(`invalid argument 0: level should be one of ${LOG_LEVELS.join(', ')}`)
        logger.setLevel(level)
      },
    }),
  ]
}
