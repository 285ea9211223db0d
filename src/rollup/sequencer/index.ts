export { type Conductor, noConductor } from './conductor.ts'
export { ConductorClient, type ConductorClientOptions, ConductorError } from './conductorClient.ts'
export type {
  SequencerAttributes,
  SequencerEngine,
  SequencerMetrics,
  SequencerModules,
  SequencerOrigins,
} from './modules.ts'
export { OriginError, OriginSelector, type OriginSelectorOptions, type OriginSource } from './originSelector.ts'
export { Sequencer, SequencerError, type SequencerOptions, type SequencerStatus } from './sequencer.ts'
