-- The schema after all migrations, read from PostgreSQL's catalog by `npm run docs`. Do not edit: change sql/NNN_*.sql.

create table planner.job (
  job_id bigint not null,
  kind text collate "C" not null,
  created_by text not null,
  created_at timestamp with time zone not null,
  deleted_at timestamp with time zone,
  constraint job_kind CHECK ((kind = ANY (ARRAY['generate-schedule'::text, 'extract-demand'::text, 'generate-thumbnail'::text]))),
  constraint job_pkey PRIMARY KEY (job_id)
);

CREATE INDEX job_deleted ON planner.job USING btree (job_id) WHERE (deleted_at IS NOT NULL);

create view planner.planner_job as
 SELECT p.job_id AS id,
    p.kind,
        CASE j.state
            WHEN 'waiting'::text THEN 'PENDING'::text
            WHEN 'running'::text THEN 'RUNNING'::text
            WHEN 'stalled'::text THEN 'RUNNING'::text
            WHEN 'succeeded'::text THEN 'COMPLETED'::text
            ELSE 'FAILED'::text
        END AS status,
    p.created_at,
    p.created_by,
        CASE
            WHEN j.state <> 'waiting'::text AND NOT a.waited THEN j.started_at
            ELSE NULL::timestamp with time zone
        END AS started_at,
    j.finished_at AS completed_at,
        CASE
            WHEN j.state = 'waiting'::text OR j.started_at IS NULL OR a.waited THEN NULL::timestamp with time zone
            WHEN j.state = 'running'::text THEN GREATEST(w.heartbeat_at, j.started_at)
            ELSE COALESCE((f.evidence ->> 'heartbeatAt'::text)::timestamp with time zone, j.finished_at)
        END AS last_heartbeat_at,
    COALESCE(j.worker_id, j.last_worker) AS worker_id,
        CASE
            WHEN j.state = 'cancelled'::text THEN 'cancelado'::text
            WHEN j.state <> ALL (ARRAY['failed'::text, 'skipped'::text]) THEN NULL::text
            WHEN (j.error ->> 'type'::text) = 'timeout'::text THEN 'o job passou do tempo máximo'::text
            WHEN (j.error ->> 'type'::text) = 'crash'::text AND (j.error ->> 'message'::text) ~~ '%: it went over its memory of %'::text THEN 'o processo do job passou da memória permitida'::text
            WHEN (j.error ->> 'type'::text) = 'crash'::text THEN 'o processo do job morreu'::text
            ELSE j.error ->> 'message'::text
        END AS error_message,
    j.progress,
    j.result
   FROM planner.job p
     JOIN retoma.job j ON j.id = ANY (ARRAY[p.job_id])
     CROSS JOIN LATERAL ( SELECT (j.state = ANY (ARRAY['failed'::text, 'skipped'::text, 'cancelled'::text])) AND COALESCE(j.run_at > j.started_at, true) AS waited) a
     LEFT JOIN retoma.worker w ON w.id = ANY (ARRAY[j.worker_id])
     LEFT JOIN retoma.failure f ON (f.job_id = ANY (ARRAY[p.job_id])) AND f.attempt = j.attempt AND f.failure_type = 'orphan'::text
  WHERE p.deleted_at IS NULL;
