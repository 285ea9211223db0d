import type { Fork } from '../../../../rollup/protocol/index.ts'
import { testConfig } from '../../../../rollup/protocol/testUtils/config.ts'
import type { DoctorFacts } from '../facts.ts'

/** 2026-11-26 12:00 UTC. */
export const NOW = 1_795_694_400
export const DAY = 86_400

export const UP_TO_JOVIAN = {
  regolith: 0,
  canyon: 0,
  delta: 0,
  ecotone: 0,
  fjord: 0,
  granite: 0,
  holocene: 0,
  isthmus: 0,
}

export const METHODS_UP_TO_KARST = [
  ...['engine_forkchoiceUpdatedV3', 'engine_newPayloadV3', 'engine_newPayloadV4'],
  ...['engine_getPayloadV3', 'engine_getPayloadV4', 'engine_getPayloadV5'],
]

/** Facts of chain 901 with these forks on a private L1, without any fault. */
export function healthyFacts(
  forks: Partial<Record<Fork, number>> = { ...UP_TO_JOVIAN, jovian: 0, karst: 0 },
): DoctorFacts {
  const config = testConfig(forks)
  const head = { number: 1_000, time: NOW - 2 }
  return {
    nowS: NOW,
    version: 'v1.0.0',
    chain: {
      ...{ config, given: config.forks, source: 'rollup config rollup.json', registry: undefined },
      ...{ isBuiltIn: false, refusal: undefined, l1Forks: [] },
    },
    flags: {
      warnings: [],
      configWarnings: [],
      trustsL1: false,
      overridden: [],
      hasBeaconFallbacks: false,
    },
    l1: [
      {
        ...{ url: 'http://l1', chainId: config.l1ChainId, genesisHash: config.genesis.l1.hash },
        head: { number: 5_000, time: NOW - 12, isGlamsterdam: false },
      },
    ],
    engine: {
      ...{
        url: 'http://engine',
        chainId: config.l2ChainId,
        client: 'op-reth/v2.9.0',
        head,
        safe: head,
        isSyncing: false,
      },
      ...{ methods: METHODS_UP_TO_KARST, genesisHash: config.genesis.l2.hash, runs: {} },
    },
    beacon: {
      ...{ url: 'http://beacon', version: 'Lighthouse/v9', genesisTime: NOW - 12_012, slotLength: 12, forks: [] },
      ...{ blobChanges: [], serves: 'blobs', depositChainId: config.l1ChainId, slotsBehind: 0, retentionS: 18 * DAY },
    },
    followed: undefined,
  }
}
