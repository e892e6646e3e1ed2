alter table retoma.provider drop column backoffs;
